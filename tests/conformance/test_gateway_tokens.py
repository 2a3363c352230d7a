"""A gateway that acts as its users with delegation tokens, in front of a real cluster with Kafka's authorizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Scram
from kconf.client.calls.scram import scram_upsertion
from kconf.client.calls.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from kconf.errors import ErrorCode, KafkaError
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.alteration import NewTopic
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import Mechanism
from kconf.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kconf.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kconf.server.upstream.client import _SendRequest as Ask
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import AUTHORIZER, KEY, begin, gateway, setting
from tests.conformance.test_gateway_crash import intents

SCRAM = "SCRAM-SHA-512"
RIGHTS = {
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:ANONYMOUS;User:root",
    "allow.everyone.if.no.acl.found": "false",
}
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
USERS = ("gateway", "root", "alice", "bob")


def allow(principal: str, kind: AclType, name: str, *operations: Operation) -> list[AclBinding]:
    return [
        AclBinding(kind, name, f"User:{principal}", each, Permission.ALLOW, PatternType.LITERAL, "*")
        for each in operations
    ]


@contextmanager
def broker(rights: Mapping[str, str]) -> Iterator[KafkaBroker]:
    """Each user's SCRAM password is their name."""
    properties = {
        **rights,
        "sasl.enabled.mechanisms": SCRAM,
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{MODULE} required;",
        "delegation.token.secret.key": "a-secret-of-the-cluster",
    }
    with KafkaBroker(properties=properties, listeners={"SASL": "SASL_PLAINTEXT"}) as kafka:
        with SyncAdminClient(kafka.bootstrap) as direct:
            direct.alter_user_scram_credentials(
                [scram_upsertion(each, Mechanism.SCRAM_SHA_512, each) for each in USERS]
            ).raise_for_failures()
            direct.create_topics([NewTopic(each, 1, 1) for each in ("orders", "payments")]).raise_for_failures()
        yield kafka


@pytest.fixture(scope="module")
def secured() -> Iterator[KafkaBroker]:
    """The gateway may describe everything and create tokens."""
    with broker(RIGHTS) as kafka:
        with SyncAdminClient(kafka.bootstrap) as direct:
            direct.create_acls(
                [
                    *allow("gateway", AclType.USER, "*", Operation.CREATE_TOKENS),
                    *allow("gateway", AclType.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS),
                    *allow("alice", AclType.TOPIC, "orders", Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS),
                    *allow("bob", AclType.TOPIC, "payments", Operation.ALTER_CONFIGS),
                ]
            ).raise_for_failures()
        yield kafka


def properties_of(user: str, directory: Path) -> str:
    path = directory / f"{user}.properties"
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={SCRAM}\n"
        f'sasl.jaas.config={MODULE} required username="{user}" password="{user}";\n'
    )
    return str(path)


ALL_RIGHTS = {**RIGHTS, "super.users": ";".join(f"User:{each}" for each in USERS)}


def options(kafka: KafkaBroker, directory: Path, rights: Mapping[str, str] = ALL_RIGHTS) -> list[str]:
    """By default, the gateway authorizes everything, so that only Kafka refuses."""
    plain = directory / "controller.properties"
    plain.write_text("security.protocol=PLAINTEXT\n")
    own = {
        **rights,
        "sasl.enabled.mechanisms": SCRAM,
        "gateway.scram.logins": "true",
        "gateway.delegation.tokens": "true",
    }
    words = ["--upstream", kafka.address("SASL"), "--upstream-properties", properties_of("gateway", directory)]
    words += ["--controller-properties", str(plain), "--listen", "SASL_PLAINTEXT://127.0.0.1:0"]
    return words + [each for key, value in own.items() for each in ("--override", f"{key}={value}")]


def test_changes_are_made_as_the_user_and_with_its_acls(secured: KafkaBroker, tmp_path: Path) -> None:
    """The gateway's own account may not change anything."""
    orders, payments = Resource.topic("orders"), Resource.topic("payments")
    quota = QuotaEntity.of({"user": "alice"})
    earlier = tokens(secured, "alice", "bob", "gateway", "root")
    with gateway(secured, tmp_path / "gw.db", *options(secured, tmp_path), listen=False) as (address, _):

        def admin(user: str) -> SyncAdminClient:
            return SyncAdminClient(address, sasl=Scram(user, user, SCRAM))

        with admin("alice") as alice, admin("bob") as bob, admin("root") as root:
            for client, own, other in ((alice, orders, payments), (bob, payments, orders)):
                refused = client.incremental_alter_configs({own: setting(11), other: setting(12)}).failures
                assert {name: each.code for name, each in refused.items()} == {
                    other: ErrorCode.TOPIC_AUTHORIZATION_FAILED
                }
                dry = client.incremental_alter_configs({other: setting(13)}, validate_only=True).failures
                assert [each.code for each in dry.values()] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
            refused_quota = alice.alter_client_quotas({quota: {"producer_byte_rate": 5.0}}).failures
            assert refused_quota[quota].code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            root.alter_client_quotas({quota: {"producer_byte_rate": 5.0}}).raise_for_failures()
            found = [
                (change.resource.name, change.after, each.caller.principal)
                for each in root.list_changes(begin(root), about=[orders, payments]).revisions
                for change in each.changes
            ]
            assert found == [("orders", "11", "User:alice"), ("payments", "11", "User:bob")]
            assert tokens(secured, "alice", "bob", "gateway", "root") == sorted([*earlier, "alice", "bob", "root"])
            relayed = [each._send(Ask("DescribeLogDirs", DescribeLogDirsRequest(None))) for each in (alice, root)]
            assert [each.error_code for each in relayed] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 0]
    until(lambda: tokens(secured, "alice", "bob", "gateway", "root"), earlier)
    with SyncAdminClient(secured.bootstrap) as direct:
        values = direct.describe_configs([orders, payments])
        assert [values[each][KEY].value for each in (orders, payments)] == ["11", "11"]
        assert direct.describe_client_quotas()[quota] == {"producer_byte_rate": 5.0}


def test_a_user_with_an_exceeded_quota_gets_the_error_of_the_cluster_at_once(
    secured: KafkaBroker, tmp_path: Path
) -> None:
    """The broker does not read the connection of this user for a minute, and changes of others would wait too."""
    entity, store = QuotaEntity.of({"user": "alice"}), tmp_path / "gw.db"
    with SyncAdminClient(secured.bootstrap) as direct:
        rights = [one for name in ("many", "more") for one in allow("alice", AclType.TOPIC, name, Operation.CREATE)]
        direct.create_acls(rights).raise_for_failures()
        direct.alter_client_quotas({entity: {"controller_mutation_rate": 1.0}}).raise_for_failures()
    with (
        SyncAdminClient(secured.address("SASL"), sasl=Scram("alice", "alice", SCRAM)) as directly,
        gateway(secured, store, *options(secured, tmp_path), listen=False) as (address, _),
        SyncAdminClient(address, sasl=Scram("alice", "alice", SCRAM), timeout=10.0) as alice,
    ):
        directly.create_topics([NewTopic("many", 60, 1)]).raise_for_failures()
        for _ in range(2):
            with pytest.raises(KafkaError, match="quota of this account is exceeded"):
                alice.create_topics([NewTopic("more", 1, 1)]).raise_for_failures()
        assert set(intents(store).values()) == {"refused"}
    with SyncAdminClient(secured.bootstrap) as direct:
        direct.alter_client_quotas({entity: {"controller_mutation_rate": None}}).raise_for_failures()


def test_in_front_of_another_authorizer_the_cluster_decides_about_changes_too(tmp_path: Path) -> None:
    """The gateway cannot evaluate the rules of this authorizer: its own ACLs decide about reads."""
    rights = {
        "authorizer.class.name": "ListedAuthorizer",
        "lab.authorizer.allowed": "User:ANONYMOUS;User:gateway;User:alice",
        "lab.authorizer.described": "User:bob",
    }
    acls = tmp_path / "acls.yaml"
    acls.write_text('acls:\n  - {principal: "User:*", resource: "topic:orders", operations: [ALTER_CONFIGS]}\n')
    orders, payments = Resource.topic("orders"), Resource.topic("payments")
    with broker(rights) as kafka:
        own: Mapping[str, str] = {**RIGHTS, "super.users": "User:root"}
        with (
            pytest.raises(AssertionError, match=r"ListedAuthorizer: .* own ACLs \(gateway.acl.file\)"),
            gateway(kafka, tmp_path / "no.db", *options(kafka, tmp_path, own), listen=False),
        ):
            pass
        own = {"gateway.acl.file": str(acls)}
        with (
            gateway(kafka, tmp_path / "gw.db", *options(kafka, tmp_path, own), listen=False) as (address, _),
            SyncAdminClient(address, sasl=Scram("alice", "alice", SCRAM)) as alice,
            SyncAdminClient(address, sasl=Scram("bob", "bob", SCRAM)) as bob,
        ):
            for client in (alice, bob):
                values = client.describe_configs([orders, payments])
                assert {each: KEY in values[each] for each in values if each not in values.failures} == {orders: True}
            alice.incremental_alter_configs({orders: setting(21)}).raise_for_failures()
            by_cluster = bob.incremental_alter_configs({orders: setting(22)}).failures
            by_gateway = alice.incremental_alter_configs({payments: setting(23)}).failures
            assert [each.code for each in (*by_cluster.values(), *by_gateway.values())] == [
                ErrorCode.TOPIC_AUTHORIZATION_FAILED
            ] * 2
            assert alice.describe_configs([orders])[orders][KEY].value == "21"


def tokens(kafka: KafkaBroker, *owners: str) -> list[str]:
    """The owners of the tokens that the gateway's account has created."""
    with SyncAdminClient(kafka.address("SASL"), sasl=Scram("gateway", "gateway", SCRAM)) as service:
        found = service._send(Ask("DescribeDelegationToken", DescribeDelegationTokenRequest(None))).tokens
    return sorted(each.principal_name for each in found if each.principal_name in owners)


def test_a_gateway_renews_and_removes_the_tokens_of_its_users(secured: KafkaBroker) -> None:
    """In Kafka, the owner and the renewers of a token may do that, but not the account that created it."""
    with SyncAdminClient(secured.address("SASL"), sasl=Scram("gateway", "gateway", SCRAM)) as service:
        for owner, renewer, codes in (
            ("carol", None, [ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH] * 2),
            ("dave", "User:gateway", []),
        ):
            token = service._send(CreateDelegationToken(f"User:{owner}", renewer=renewer))
            until(partial(tokens, secured, owner), [owner])
            refused = []
            for call in (RenewDelegationToken(token), ExpireDelegationToken(token)):
                try:
                    service._send(call)
                except KafkaError as error:
                    refused.append(error.code)
            assert refused == codes


def test_a_super_user_with_a_token_may_do_everything_except_create_tokens(secured: KafkaBroker) -> None:
    with SyncAdminClient(secured.address("SASL"), sasl=Scram("gateway", "gateway", SCRAM)) as service:
        token = service._send(CreateDelegationToken("User:root"))
    sasl = Scram(token.id, token.password, SCRAM, token_auth=True)
    with SyncAdminClient(secured.address("SASL"), sasl=sasl) as root:
        until(lambda: logs_in(root), True)
        for owner in (None, "User:alice"):
            with pytest.raises(KafkaError) as refused:
                root._send(CreateDelegationToken(owner))
            assert refused.value.code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        root.describe_user_scram_credentials(["alice"])["alice"]
        changed = [scram_upsertion("carol", Mechanism.SCRAM_SHA_512, "carol")]
        root.alter_user_scram_credentials(changed).raise_for_failures()
        root.incremental_alter_configs({Resource.brokers(): setting(1000, "log.retention.ms")}).raise_for_failures()
        bindings = allow("carol", AclType.TOPIC, "orders", Operation.READ)
        root.create_acls(bindings).raise_for_failures()
        root.create_topics([NewTopic("made", 1, 1)]).raise_for_failures()


def logs_in(client: SyncAdminClient) -> bool:
    try:
        client.describe_cluster()
    except KafkaError:
        return False
    return True
