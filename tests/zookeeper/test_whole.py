"""All server features on a store in ZooKeeper: large requests, logins, ACLs, quotas, secrets, dry runs."""

from __future__ import annotations

import json

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from kconf import (
    AclBinding,
    AclType,
    AuthenticationFailed,
    Mechanism,
    Operation,
    QuotaEntity,
    SyncAdminClient,
    scram_upsertion,
)
from tests.feed.reading import changes, until
from tests.security.sasl_server import ALICE, Secured
from tests.support.admin import BROKER, DELETE, SET, TOPIC, Admin, codes, new_topic
from tests.support.process import KconfProcess
from tests.zookeeper.conftest import Serve

SOON = 60.0


def test_a_request_larger_than_zookeeper_accepts_is_split_between_its_topics(serve: Serve) -> None:
    one, other = serve(1), serve(2)
    names = [f"topic-{number:04}" for number in range(3000)]
    with Admin(one.bootstrap, timeout=120) as admin, Admin(other.bootstrap, timeout=120) as second:
        requests = [new_topic(name, 1, 1, {"retention.ms": "1000", "segment.ms": "5000"}) for name in names]
        assert set(codes(admin.create_topics(requests))) == {0}
        wide = [((TOPIC, name), [("flush.ms", SET, "77")]) for name in names]
        assert set(codes(admin.alter_all(wide))) == {0}

        def known() -> int:
            return len(second.ask("Metadata", 12, topics=None).topics)

        until(lambda: known() == 3000, 60)
        until(lambda: second.overrides(names[-1]).get("flush.ms") == "77", 60)
        told = [line.resource_name for each in changes(admin, 0, lines=100_000).revisions for line in each.changes]
        assert told
        assert codes(admin.delete(*names)) == [0] * 3000
        until(lambda: known() == 0, 60)


def test_one_resource_that_is_too_large_is_refused_and_others_are_not(serve: Serve) -> None:
    server = serve(1)
    with Admin(server.bootstrap) as admin:
        large = [(f"custom.{number}", SET, "x" * 30_000) for number in range(40)]
        admin.create("orders")
        answers = [admin.alter((BROKER, ""), each).error_code for each in large]

        assert set(answers) == {0, 42}
        assert answers == sorted(answers)
        told = admin.alter((BROKER, ""), large[-1]).error_message
        assert "brokers exceeds ZooKeeper's size limit" in told
        assert admin.alter((BROKER, ""), *large).error_code == 42
        assert admin.alter((TOPIC, "orders"), ("segment.ms", SET, "7")).error_code == 0
        assert admin.alter((BROKER, ""), ("custom.0", DELETE, None)).error_code == 0


def test_a_user_created_on_one_server_logs_in_on_another_with_its_rights(serve: Serve) -> None:
    options = {
        "properties": {
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:ANONYMOUS",
        },
        "listeners": ("PLAINTEXT", "SASL_PLAINTEXT"),
    }
    one, other = serve(1, **options), serve(2, **options)
    login = Secured(other, None).java("SASL_PLAINTEXT", "SCRAM-SHA-256")  # type: ignore[arg-type]  # no certificates
    with SyncAdminClient(one.address("PLAINTEXT")) as admin, SyncAdminClient.from_properties(login) as alice:
        with pytest.raises(AuthenticationFailed):
            alice.describe_cluster()
        admin.alter_user_scram_credentials(
            [scram_upsertion(ALICE.name, Mechanism.SCRAM_SHA_256, ALICE.password)]
        ).raise_for_failures()
        admin.create_topics(["orders"]).raise_for_failures()

        def sees() -> list[str]:
            try:
                return sorted(alice.list_topics())
            except AuthenticationFailed:
                return ["nobody"]

        until(lambda: sees() == [], SOON)
        admin.create_acls([AclBinding(AclType.TOPIC, "orders", "User:alice", Operation.DESCRIBE)]).raise_for_failures()
        until(lambda: sees() == ["orders"], SOON)


def test_a_quota_set_on_one_server_applies_on_another(serve: Serve) -> None:
    one, other = serve(1), serve(2)
    entity = QuotaEntity.of({"user": "alice", "client-id": None})
    with SyncAdminClient(one.bootstrap) as admin, SyncAdminClient(other.bootstrap) as second:
        admin.alter_client_quotas({entity: {"producer_byte_rate": 1024.0}}).raise_for_failures()
        until(lambda: second.describe_client_quotas() == {entity: {"producer_byte_rate": 1024.0}}, SOON)
        second.alter_client_quotas({entity: {"producer_byte_rate": None}}).raise_for_failures()
        until(lambda: admin.describe_client_quotas() == {}, SOON)


def test_a_quota_that_a_broker_could_not_read_is_refused(serve: Serve) -> None:
    """KIP-248's quotas are doubles; a 3.9 broker fails on a byte rate with a fraction."""
    entity = QuotaEntity.of({"user": "alice"})
    with SyncAdminClient(serve(1).bootstrap) as admin:
        done = admin.alter_quotas({entity: {"producer_byte_rate": 100.5, "request_percentage": 12.5}})

        assert "must be an integer" in (done.failures[entity].message or "")
        assert admin.describe_client_quotas() == {entity: {"request_percentage": 12.5}}


@pytest.mark.parametrize("secret", [None, "encoder-secret"])
def test_passwords_are_not_readable_in_zookeeper_and_survive_a_restart(
    serve: Serve, znodes: KazooClient, secret: str | None
) -> None:
    properties = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    if secret is not None:
        properties["password.encoder.secret"] = secret
    server = serve(1, properties=properties)
    key = "listener.name.plaintext.ssl.keystore.password"
    with Admin(server.bootstrap) as admin:
        assert admin.alter((BROKER, "1"), (key, SET, "hidden-password")).error_code == 0
    server.stop()
    server.start()
    with Admin(server.bootstrap) as admin:
        entry = admin.entries((BROKER, "1"))[key]
        assert (entry.value, entry.is_sensitive, entry.config_source) == (None, True, 2)
        (revision,) = changes(admin, 0).revisions
        assert revision.changes[0].after.startswith("hmac:")

    text = json.loads(znodes.get("/config/brokers/1")[0])["config"][key]
    assert text.startswith("kconf:" if secret is None else "keyFactoryAlgorithm:")
    assert "hidden-password" not in _everything(znodes)
    assert "hidden-password" not in server.log()


def _everything(znodes: KazooClient, path: str = "/") -> str:
    try:
        data = (znodes.get(path)[0] or b"").decode(errors="replace")
    except NoAuthError:
        assert path == "/kconf/seal"
        return ""
    return data + "".join(_everything(znodes, f"{path.rstrip('/')}/{name}") for name in znodes.get_children(path))


def test_a_server_with_another_secret_does_not_start_on_the_store(serve: Serve, zookeeper_url: str) -> None:
    serve(1, properties={"password.encoder.secret": "one"})
    stranger = KconfProcess(store=zookeeper_url, node_id=2, properties={"password.encoder.secret": "two"})
    with pytest.raises(RuntimeError, match=r"password\.encoder\.secret") as told:
        stranger.start()
    assert "Traceback" not in str(told.value)


def test_dry_runs_and_refusals_are_recorded_as_attempts(serve: Serve, znodes: KazooClient) -> None:
    with Admin(serve(1).bootstrap) as admin:
        admin.create("orders")
        assert admin.alter((TOPIC, "orders"), ("segment.ms", SET, "1"), dry=True).error_code == 0
        assert admin.alter((TOPIC, "orders"), ("segment.ms", SET, "bogus")).error_code == 40
        assert len(changes(admin, 0).revisions) == 1
        until(lambda: len(admin.ask("ListAttempts", 0, after=0).attempts) == 2, SOON)
