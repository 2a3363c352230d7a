"""Following a real cluster with SASL_SSL and mTLS controllers, an authorizer, and a log that is truncated.

All tests share one broker, which takes a snapshot after a few kilobytes and soon deletes older segments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kconf import AclBinding, AclFilter, AclType, AlterConfigOp, Operation, OpType, Resource, SyncAdminClient
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import People, a_name
from tests.unit.client.certificates import Certificates

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
FOLLOWER, PASSWORD = "kconf-follower", "follower-secret"
RETENTION = "retention.ms"
PRINCIPALS = (f"User:{FOLLOWER}", "User:CN=client")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[KafkaBroker]:
    users = f'username="controller" password="c" user_controller="c" user_{FOLLOWER}="{PASSWORD}"'
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:controller",
        "controller.listener.names": "CONTROLLER,MUTUAL",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.controller.plain.sasl.jaas.config": f"{PLAIN} {users};",
        "listener.name.controller.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "metadata.max.retention.ms": "1000",
    }
    listeners = {"CONTROLLER": "SASL_SSL", "MUTUAL": "SSL"}
    with KafkaBroker(properties=properties, listeners=listeners) as made:
        yield made


def sasl(certificates: Certificates, mechanism: str = "PLAIN") -> dict[str, str]:
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} username="{FOLLOWER}" password="{PASSWORD}";',
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
    }


def mutual(certificates: Certificates) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.keystore.location": str(certificates.store("client")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
    }


@pytest.fixture
def people(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificates: Certificates) -> People:
    """The context `here` follows with SASL_SSL, `mutual` with a certificate; each has a properties file."""
    found = People(tmp_path, broker.bootstrap)
    for name, listener, properties in (
        ("here", "CONTROLLER", sasl(certificates)),
        ("scram", "CONTROLLER", sasl(certificates, "SCRAM-SHA-512")),
        ("mutual", "MUTUAL", mutual(certificates)),
    ):
        path = tmp_path / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        path.chmod(0o600)
        archive = str(tmp_path / "archive")
        controllers = broker.address(listener)
        found.add_context(name, controllers=controllers, controller_properties=str(path), journal=archive)
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found


def grant(people: People, *principals: str) -> None:
    """Allow exactly these principals to follow."""
    with people.admin() as admin:
        admin.delete_acls([AclFilter(AclType.CLUSTER)])
        rules = [AclBinding(AclType.CLUSTER, "kafka-cluster", each, Operation.CLUSTER_ACTION) for each in principals]
        for each in rules:
            admin.create_acls([each]).raise_for_failures()


def log_capability(people: People, context: str) -> dict[str, Any]:
    (found,) = [each for each in people.items(f"context test {context}") if each["capability"] == "metadata log"]
    return found


def until(is_done: Callable[[], bool], seconds: float = 240) -> None:
    ends = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < ends
        time.sleep(0.2)


@contextmanager
def running(people: People, *words: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "KCONF_CONFIG": str(people.config)}
    command = [sys.executable, "-m", "kconf", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.parametrize("context", ["here", "mutual"])
def test_a_watch_follows_the_log_only_while_it_has_the_right(people: People, context: str) -> None:
    name = a_name()
    people.topics(name)
    grant(people)
    until(lambda: log_capability(people, context)["result"] == "refused")
    refused = log_capability(people, context)
    grant(people, *PRINCIPALS)
    until(lambda: log_capability(people, context)["result"] == "yes")

    with running(people, "watch", f"topic:{name}", "-C", context, "-o", "json") as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        assert watch.stderr.readline() == "following the metadata log\n"
        people(f"set topic:{name} {RETENTION}=1000000 --yes --allow-data-loss -C {context}")
        shown = json.loads(watch.stdout.readline())
        grant(people)
        assert watch.wait(60) == 1
        ended = watch.stderr.read()

    assert (shown["key"], shown["after"]) == (RETENTION, "1000000")
    assert "CLUSTER_ACTION on the cluster (Cluster:kafka-cluster)" in refused["detail"]
    assert "to poll the cluster instead, pass --every TIME" in ended
    assert "CLUSTER_ACTION on the cluster (Cluster:kafka-cluster)" in ended


def test_watch_polls_without_the_right_and_reports_it(people: People) -> None:
    name = a_name()
    people.topics(name)
    grant(people)
    until(lambda: log_capability(people, "here")["result"] == "refused")

    with running(people, "watch", f"topic:{name}", "-C", "here", "--every", "0.2s", "--count", "1") as watch:
        assert watch.stderr is not None
        assert watch.stdout is not None
        first, second = watch.stderr.readline(), watch.stderr.readline()
        people(f"set topic:{name} {RETENTION}=1000000 --yes --allow-data-loss")
        assert watch.wait(60) == 0

    assert first.startswith("the metadata log cannot be followed: ")
    assert "CLUSTER_ACTION" in first
    assert second.startswith("polling every 0.2 s: ")


def test_a_scram_login_follows_the_log_and_a_wrong_password_is_refused(
    people: People, certificates: Certificates, tmp_path: Path
) -> None:
    from kconf import Mechanism, scram_upsertion

    grant(people, *PRINCIPALS)
    with people.admin() as admin:
        upsertion = scram_upsertion(FOLLOWER, Mechanism.SCRAM_SHA_512, PASSWORD)
        admin.alter_user_scram_credentials([upsertion]).raise_for_failures()
    until(lambda: log_capability(people, "scram")["result"] == "yes")
    wrong = tmp_path / "scram.properties"
    wrong.write_text(wrong.read_text().replace(PASSWORD, "wr0ng"))

    found = log_capability(people, "scram")

    assert (found["result"], "wr0ng" in str(found)) == ("refused", False)


def archived(archive: Path) -> list[dict[str, Any]]:
    files = sorted(archive.glob("*/log-*.jsonl"), key=lambda each: each.name.split("-")[-2])
    return [json.loads(line) for each in files for line in each.read_text().splitlines()]


@pytest.mark.full
def test_a_log_that_was_truncated_while_not_followed_is_one_gap_with_the_difference(
    people: People, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The broker checks for old snapshots once a minute."""
    grant(people, *PRINCIPALS)
    archive, kept, gone = tmp_path / "archive", a_name("kept"), a_name("gone")
    topic = Resource.topic(kept)
    words = ("follow", "-C", "here", "--archive", str(archive), "--interval", "0.1")

    def of_mine() -> list[dict[str, Any]]:
        return [line for line in archived(archive) if line["resource_name"] in (kept, gone)]

    with running(people, *words) as first:
        people.topics(kept, gone, configs=[(RETENTION, "1000000")])
        until(lambda: len(of_mine()) == 4)
        first.kill()
        first.wait(60)
    end = max(int(each.name.split("-")[-1].removesuffix(".jsonl")) for each in archive.glob("*/log-*.jsonl"))
    with people.admin() as admin:
        admin.delete_topics([gone]).raise_for_failures()
        for value in range(1, 40):
            op = AlterConfigOp(OpType.SET, RETENTION, str(2_000_000 + value))
            admin.incremental_alter_configs({topic: [op]}).raise_for_failures()
        directory = broker.directory / "data" / "__cluster_metadata-0"

        def oldest() -> int:
            return min((int(each.name[:20]) for each in directory.glob("*.checkpoint")), default=0)

        number = 0

        def is_cut() -> bool:
            nonlocal number
            number += 1
            op = AlterConfigOp(OpType.SET, "segment.ms", str(3_000_000 + number))
            admin.incremental_alter_configs({topic: [op]}).raise_for_failures()
            return oldest() > end

        until(is_cut)
    with running(people, *words) as second:
        until(lambda: any(line["origin"] == "snapshot" for line in of_mine()))
        people(f"set topic:{kept} flush.ms=77 --yes --allow-data-loss")
        until(lambda: any(line["key"] == "flush.ms" for line in of_mine()))
        second.terminate()
        assert second.wait(60) == 0
    gaps = [each.name for each in archive.glob("*/log-gap-*.jsonl") if f"-{end:020d}-" in each.name]
    state = {each["key"]: each["value"] for each in people.items(f"describe topic:{kept}")}
    shown = [line for line in of_mine() if line["origin"] == "snapshot"]
    blamed = {each["key"]: each for each in people.items(f"blame topic:{kept}")}

    assert len(gaps) == 1
    assert [(line["before"], line["after"]) for line in shown if line["key"] == RETENTION and line["after"]] == [
        ("1000000", state[RETENTION])
    ]
    mine = [line for line in of_mine() if line["resource_name"] == kept and line["key"]]
    assert {line["key"]: line["after"] for line in mine} == state
    assert [(line["key"], line["op"]) for line in shown if line["resource_name"] == gone] == [
        (RETENTION, "delete"),
        ("", "delete"),
    ]
    assert blamed[RETENTION]["record"] == "seen"
    assert blamed["flush.ms"]["record"] == "matches"
    with SyncAdminClient(broker.bootstrap) as admin:
        assert admin.describe_configs([topic])[topic][RETENTION].value == state[RETENTION]
