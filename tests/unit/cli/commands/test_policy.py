from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kconf.cli.commands import policy
from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.configs import DescribedConfigs
from kconf.errors import ApiError, ErrorCode, UnsupportedVersion
from kconf.model.cluster import NO_ID, ClusterDescription, Node, PartitionDescription, TopicDescription, TopicListing
from kconf.model.entry import Entry, Source, View
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results

EXAMPLE = Path(__file__).parents[4] / "examples" / "policy.yaml"


def run(*argv: str) -> int:
    top = argparse.ArgumentParser()
    policy.register(top.add_subparsers())
    options = top.parse_args(["policy", *argv])
    return int(options.run(options))


class FakeClient:
    """A cluster with one broker, two topics (one of them hidden), and a group."""

    configs = {  # noqa: RUF012
        Resource.topic("orders"): [Entry("retention.ms", "5", Source.TOPIC), Entry("segment.ms", "9", Source.DEFAULT)],
        Resource.brokers(): [Entry("log.retention.ms", "5", Source.DEFAULT_BROKER)],
        Resource.broker(1): [Entry("log.retention.ms", "5", Source.DEFAULT_BROKER)],
        Resource.group("g"): [Entry("consumer.session.timeout.ms", "5", Source.GROUP)],
    }
    old = False

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_topics(self, *, internal: bool) -> dict[str, TopicListing]:
        return {name: TopicListing(name, NO_ID, False, 1) for name in ("orders", "hidden")}

    def describe_topics(self, topics: Iterable[str]) -> Results[str, TopicDescription]:
        shape = (PartitionDescription(0, 1, (1, 2), (1, 2)),)
        return Results({name: TopicDescription(name, NO_ID, False, shape) for name in topics})

    def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription("c", None, {1: Node(1, "h", 1)})

    def list_config_resources(self, types: Sequence[ResourceType]) -> list[Resource]:
        if self.old:
            raise UnsupportedVersion("too old")
        return [Resource.group("g")]

    def describe_configs(self, resources: Iterable[Resource], **_: object) -> DescribedConfigs:
        hidden = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not yours")
        return DescribedConfigs(
            {each: View(tuple(self.configs[each])) if each in self.configs else hidden for each in resources}
        )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    client = FakeClient()

    def connected(properties: Any, bootstrap: str, sasl: None, journal: None) -> FakeClient:
        assert bootstrap == "h:1"
        return client

    monkeypatch.setattr(SyncAdminClient, "from_properties", connected)
    return client


def test_check_of_a_valid_file_counts_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(EXAMPLE)) == 0
    assert capsys.readouterr().out == f"{EXAMPLE}: 10 rules, no errors\n"


def test_check_lists_every_error_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("verson: 1\nrules: [{id: x}]\n")

    assert run("check", str(file)) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{file}:1:1: unknown field 'verson' in a policy; did you mean version?",
        f"{file}:2:9: a rule needs the field condition",
        f"{file}:2:9: a rule needs the field key",
        f"{file}:2:9: a rule needs the field selector",
    ]
    assert run("test", str(file), "-b", "h:1") == 2


def test_check_of_a_missing_file_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "/no/such.yaml") == 2
    assert capsys.readouterr().err == "cannot read /no/such.yaml: No such file or directory\n"


def test_test_lists_what_the_rules_would_refuse(
    tmp_path: Path, cluster: FakeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p").write_text("""
rules:
  - {id: long, selector: topic, key: retention.ms, condition: {min: 6, required: true}}
  - {id: own, selector: topic, key: segment.ms, condition: {required: true}, severity: warn}
  - {id: copies, selector: topic, key: replication_factor, condition: {min: 3}}
  - {id: broker, selector: broker, key: log.retention.ms, condition: {forbidden: true}}
  - {id: group, selector: group, key: consumer.session.timeout.ms, condition: {max: 4ms}}
""")

    assert run("test", str(tmp_path / "p"), "-b", "h:1") == 1
    told = capsys.readouterr()
    inherited = "topics without an override inherit this value from broker:1"
    assert [line.split(None, 2) for line in told.out.splitlines()] == [
        ["RESOURCE", "SEVERITY", "FINDING"],
        ["topic:orders", "error", "retention.ms is 5 but must be at least 6 (rule long)"],
        ["topic:orders", "warn", "segment.ms must be set on topic:orders (rule own)"],
        ["topic:orders", "error", "replication_factor is 2 but must be at least 3 (rule copies)"],
        ["broker:1", "error", f"{inherited}: retention.ms is 5 but must be at least 6 (rule long)"],
        ["brokers", "error", "log.retention.ms must not be set on brokers (rule broker)"],
        ["group:g", "error", "consumer.session.timeout.ms is 5 but must be at most 4ms (rule group)"],
    ]
    assert told.err.splitlines() == [
        "topic:hidden: not yours",
        "4 resources checked against 5 rules: 5 errors, 1 warning",
    ]


def test_test_of_several_contexts_has_the_counts_in_json(
    tmp_path: Path, cluster: FakeClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text(
        "version: 1\ncontexts:\n  a: {bootstrap: h:1}\n  b: {bootstrap: h:1}\n  other: {bootstrap: x:1}\n"
    )
    (tmp_path / "config.yaml").chmod(0o600)
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "config.yaml"))
    (tmp_path / "p").write_text(
        "rules: [{id: group, selector: group, key: consumer.session.timeout.ms, condition: {max: 4ms}}]"
    )

    assert run("test", str(tmp_path / "p"), "-C", "?", "-o", "json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["evaluated"], told["errors"], told["warnings"], told["rules"]) == (2, 2, 0, 1)
    assert [(e["context"], e["resource"], e["severity"], e["rule"], e["key"]) for e in told["items"]] == [
        ("a", "group:g", "error", "group", "consumer.session.timeout.ms"),
        ("b", "group:g", "error", "group", "consumer.session.timeout.ms"),
    ]


def test_warnings_alone_are_no_failure_and_only_selected_types_are_read(
    tmp_path: Path, cluster: FakeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p").write_text(
        "rules: [{id: b, selector: brokers, key: log.retention.ms, condition: {forbidden: true}, severity: warn}]"
    )

    assert run("test", str(tmp_path / "p"), "-b", "h:1") == 0
    assert capsys.readouterr().err.splitlines()[-1] == "2 resources checked against 1 rule: 0 errors, 1 warning"


def test_a_cluster_that_cannot_list_groups_is_reported(
    tmp_path: Path, cluster: FakeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.old = True
    (tmp_path / "p").write_text(
        "rules: [{id: g, selector: group, key: consumer.session.timeout.ms, condition: {max: 4ms}}]"
    )

    assert run("test", str(tmp_path / "p"), "-b", "h:1") == 0
    assert capsys.readouterr().err.splitlines() == [
        "h:1 cannot list group resources; they were not checked",
        "0 resources checked against 1 rule: 0 errors, 0 warnings",
    ]
