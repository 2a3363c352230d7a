"""A user with few rights, as on a managed cluster: each refused part is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands.scenarios import People
from tests.security.conftest import certificates, secured  # noqa: F401 – fixtures
from tests.security.sasl_server import ALICE, ROOT, Secured, User


def someone(secured: Secured, directory: Path, user: User) -> People:  # noqa: F811
    directory.mkdir(exist_ok=True)
    properties = secured.java("SASL_PLAINTEXT", "PLAIN", user)
    return People(directory, secured.server.address("SASL_PLAINTEXT"), properties)


def test_missing_rights_are_reported(
    secured: Secured,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, alice = someone(secured, tmp_path / "root", ROOT), someone(secured, tmp_path / "alice", ALICE)
    whom = f"--principal User:{ALICE.name}"
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    monkeypatch.setenv("KCONF_CONFIG", str(root.config))
    root.topics("rights.a", "rights.b")
    root(f"acl add {whom} --operation alter-configs,describe --on topic:rights.a")
    root(f"acl add {whom} --operation describe --on topic:rights.b")
    monkeypatch.setenv("KCONF_CONFIG", str(alice.config))

    capabilities = {each["capability"]: each["result"] for each in alice.items("context test")}
    found = alice.items("set 'topic:rights.*' segment.ms=1h --yes", status=1)

    refused = {"brokers", "quotas", "scram", "acls", "feed"}
    assert {name for name, result in capabilities.items() if result == "refused"} >= refused
    assert {each["resource"]: each["error"] for each in found} == {
        "topic:rights.a": None,
        "topic:rights.b": "TOPIC_AUTHORIZATION_FAILED",
    }
    assert alice.overrides("topic:rights.a") == {"segment.ms": "3600000"}
    assert alice.whole("topic create rights.c", status=1)["items"][0]["error"] == "TOPIC_AUTHORIZATION_FAILED"

    monkeypatch.setenv("KCONF_CONFIG", str(root.config))
    root(f"acl add {whom} --operation describe-configs --on topic:rights.a --deny")
    monkeypatch.setenv("KCONF_CONFIG", str(alice.config))
    (blind,) = alice.items("set topic:rights.a segment.ms=2h")
    assert (blind["old"], blind["new"], blind["outcome"]) == (None, "7200000", "done")
    monkeypatch.setenv("KCONF_CONFIG", str(root.config))
    assert root.overrides("topic:rights.a") == {"segment.ms": "7200000"}


def test_a_rule_that_cannot_be_evaluated_does_not_count_as_satisfied(
    secured: Secured,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, alice = someone(secured, tmp_path / "root", ROOT), someone(secured, tmp_path / "alice", ALICE)
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules:\n  - {id: few, selector: 'topic:*', key: partitions, condition: {max: 3}}\n")
    alice.add_context("ruled", policy=str(policy))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    monkeypatch.setenv("KCONF_CONFIG", str(root.config))
    root.topics("judged")
    root(f"acl add --principal User:{ALICE.name} --operation alter-configs --on topic:judged")
    monkeypatch.setenv("KCONF_CONFIG", str(alice.config))

    (refused,) = alice.items("set topic:judged segment.ms=1h -C ruled", status=1)
    (done,) = alice.items("set topic:judged segment.ms=1h")

    assert (refused["error"], refused["outcome"]) == ("TOPIC_AUTHORIZATION_FAILED", "failed")
    assert done["error"] is None
