"""The first week of a new user with only the kconf command: a real KRaft broker over SASL_SSL, without a kconf server.

Monday: add a context and list resources. Tuesday: quotas, and export to files. Wednesday: changes. Thursday: undo them.
Friday: a snapshot for the pipeline. Every command is a separate process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.scenarios import until
from tests.cli.conftest import run_program
from tests.conformance.test_commands import Secured, secured

__all__ = ["secured"]

PASSWORD = "alice-secret"


class Someone:
    """Runs commands and parses their JSON."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {"KCONF_CONFIG": str(directory / "config.yaml"), "ALICE_PASSWORD": PASSWORD}
        self.said: list[str] = []

    def __call__(self, *words: str, status: int = 0) -> str:
        ran = run_program(*words, environment=self.environment)
        self.said.append(ran.out + ran.err)
        assert ran.status == status, (words, ran)
        return ran.out

    def items(self, *words: str, status: int = 0) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(*words, "-o", "json", status=status))["items"]
        return found


@pytest.fixture
def someone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Someone:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return Someone(tmp_path)


def test_the_first_week_with_files_needs_only_the_command(secured: Secured, someone: Someone) -> None:
    _monday(someone, secured)
    _tuesday(someone)
    before = _wednesday(someone)
    _thursday(someone, before)
    _friday(someone)
    _no_secret_anywhere(someone)


def _monday(someone: Someone, secured: Secured) -> None:
    """Add a context with TLS and a password from the environment, and list resources."""
    properties = "".join(f"{key}={value}\n" for key, value in secured.properties.items() if "jaas" not in key)
    (someone.directory / "client.properties").write_text(properties)
    someone(
        *("context", "add", "prod", "-b", secured.bootstrap, "--properties", "client.properties"),
        *("--user", "alice", "--password", "${env:ALICE_PASSWORD}", "--journal", "journal"),
    )
    capable = {each["capability"]: each["result"] for each in someone.items("context", "test", "prod")}
    assert (capable["configs"], capable["quotas"], capable["feed"]) == ("yes", "yes", "unsupported")
    someone("topic", "create", "orders", "--partitions", "2", "--replication-factor", "1", "--config", "segment.ms=3h")
    for region in ("eu", "us"):
        someone("topic", "create", f"logs.{region}", "--partitions", "1", "--replication-factor", "1")
    until(lambda: len(someone.items("topic", "list")), 3)
    until(lambda: [each["value"] for each in someone.items("describe", "topic:orders")], ["10800000"])
    assert len(someone.items("describe", "topic:orders", "--all")) > 20


def _tuesday(someone: Someone) -> None:
    """Set quotas, export everything to files, and plan without differences."""
    someone("quota", "set", "--user", "bob", "producer_byte_rate=1MiB")
    until(lambda: len(someone.items("quota", "explain", "--user", "bob")) > 0, True)
    someone("export", "--to", "cluster")
    assert someone.items("plan", "-f", "cluster") == []


def _wednesday(someone: Someone) -> str:
    """One change with `set`, many with a pattern, the rest with files, which match the cluster in the end."""
    (last,) = someone.items("history", "--last", "1")
    someone("set", "topic:orders", "segment.ms=4h", "--reason", "ticket 12")
    done = someone.items("set", "topic:logs.*", "segment.ms=1h", "--yes")
    assert {each["outcome"] for each in done} == {"done"}
    topics = Path("cluster/topics.yaml")
    topics.write_text(topics.read_text() + "  payments:\n    partitions: 1\n    replication: 1\n")
    until(lambda: len(_planned(someone)), 4)
    assert {(each["resource"], each["key"]) for each in _planned(someone)} == {
        ("topic:payments", None),
        ("topic:orders", "segment.ms"),
        ("topic:logs.eu", "segment.ms"),  # undeclared: apply leaves them
        ("topic:logs.us", "segment.ms"),
    }
    someone("plan", "-f", "cluster", "--out", "wednesday.plan", status=3)
    someone("apply", "wednesday.plan", "--yes", "--reason", "as reviewed")
    until(lambda: {each["resource"] for each in _planned(someone)}, {"topic:logs.eu", "topic:logs.us"})
    return str(last["time"])


def _planned(someone: Someone) -> list[dict[str, Any]]:
    return someone.items("plan", "-f", "cluster", status=3)


def _thursday(someone: Someone, before: str) -> None:
    """Show authors and differences, and roll back to Tuesday."""
    lines = someone.items("history", "topic:orders", "--since", before)
    changed = [(each["before"], each["after"], each["reason"]) for each in lines if each["key"] == "segment.ms"]
    assert changed[-2:] == [("10800000", "14400000", "ticket 12"), ("14400000", "10800000", "as reviewed")]
    assert {each["principal"] for each in lines} == {"User:alice"}
    blamed = {each["key"]: each["reason"] for each in someone.items("blame", "topic:orders")}
    assert blamed["segment.ms"] == "as reviewed"
    assert len(someone.items("diff", "topic", "--from", before, status=3)) == 3
    someone("rollback", "topic:logs.*", "--to", before, "--yes")
    until(lambda: someone.items("describe", "topic:logs.eu"), [])


def _friday(someone: Someone) -> None:
    (item,) = someone.items("snapshot", "--out", "snapshots")
    lines = [json.loads(line) for line in Path(item["file"]).read_text().splitlines()]
    assert lines[0]["missing"] == []
    assert lines[-1] == {"kind": "end", "lines": len(lines) - 1}
    assert {each["name"] for each in lines if each["kind"] == "topic" and not each["internal"]} >= {
        "orders",
        "payments",
        "logs.eu",
    }


def _no_secret_anywhere(someone: Someone) -> None:
    assert not [each for each in someone.said if PASSWORD in each]
    files = [each for each in someone.directory.rglob("*") if each.is_file()]
    assert not [each for each in files if PASSWORD.encode() in each.read_bytes()]
