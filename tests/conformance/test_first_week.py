"""The first week of a new user with only the kconf command and a login: a real KRaft broker, SASL_SSL, no kconf server.

Each step is a separate process, in one home directory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.scenarios import until
from tests.cli.conftest import run_program
from tests.conformance.test_commands import Secured, secured  # noqa: F401 – a fixture

Kconf = Callable[..., dict[str, Any]]


@pytest.fixture
def kconf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kconf:
    """Runs `kconf(status, words…)` with its own home and JSON output; no argument or output contains the password."""
    for name in ("KCONF_CONFIG", "KCONF_CONTEXT", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "password").write_text("alice-secret\n")

    def run(status: int, *words: str) -> dict[str, Any]:
        done = run_program(*words, "--output", "json")
        assert done.status == status, done
        assert "alice-secret" not in done.out + done.err + "".join(words)
        found: dict[str, Any] = json.loads(done.out)
        return found

    return run


def test_the_first_week_needs_only_the_command_and_a_login(secured: Secured, kconf: Kconf, tmp_path: Path) -> None:  # noqa: F811
    # Monday: add a context and test it.
    properties = [f"--property={key}={value}" for key, value in secured.properties.items() if key != "sasl.jaas.config"]
    login = ["--user", "alice", "--password-command", f"cat {tmp_path / 'password'}"]
    kconf(0, "context", "add", "prod", "-b", secured.bootstrap, *properties, *login, "--protected")
    assert oct((tmp_path / ".config/kconf/config.yaml").stat().st_mode)[-3:] == "600"
    capabilities = {each["capability"]: each["result"] for each in kconf(0, "context", "test")["items"]}
    assert (capabilities["connect"], capabilities["acls"], capabilities["feed"]) == ("yes", "yes", "unsupported")

    # Tuesday: create topics, describe and explain them.
    sure = ("--confirm", "prod")
    for number in range(30):
        name = f"week.{number:02}"
        kconf(0, "topic", "create", name, "--partitions", "1", "--replication-factor", "1", *sure)
    until(lambda: len(kconf(0, "topic", "list", "week.*")["items"]), 30)
    assert kconf(0, "explain", "topic:retention.ms")["items"][0]["default"] == "604800000"
    assert kconf(0, "describe", "topic:week.00")["items"] == []
    effective = kconf(0, "quota", "explain", "--user", "alice", "--client-id", "app")
    assert effective["error"] is None

    # Wednesday: one change after a dry run; a protected context requires its name.
    tried = kconf(0, "set", "topic:week.00", "retention.ms=14d", "--dry-run")
    assert (tried["dry_run"], tried["items"][0]["new"]) == (True, "1209600000")
    assert kconf(2, "set", "topic:week.00", "retention.ms=14d", "--yes")["error"] == "NOT_DONE"
    kconf(0, "set", "topic:week.00", "retention.ms=14d", *sure)
    until(lambda: [each["value"] for each in kconf(0, "describe", "topic:week.00")["items"]], ["1209600000"])

    # Thursday: many changes at once, and one that cannot be undone.
    done = str(tmp_path / "done.txt")
    bulk = kconf(0, "set", "topic:week.*", "segment.ms=1h", "--resume", done, *sure)
    assert {each["outcome"] for each in bulk["items"]} == {"done"}
    refused = kconf(2, "set", "topic:week.*", "retention.ms=1h", *sure)
    assert sum(each["data_loss"] is not None for each in refused["items"]) == 30

    # Friday: ACLs and users for the team.
    kconf(0, "acl", "add", "--principal", "User:bob", "--operation", "read,describe", "--on", "topic:week.*", *sure)
    until(lambda: len(kconf(0, "acl", "list", "--principal", "User:bob")["items"]), 2)
    words = ["--mechanism", "SCRAM-SHA-512", "--password-command", "echo for-bob"]
    kconf(0, "scram", "set", "--user", "bob", *words, *sure)
    until(lambda: [each["user"] for each in kconf(0, "scram", "list")["items"]], ["bob"])
    kconf(0, "scram", "delete", "--user", "bob", *sure)
    kconf(0, "acl", "delete", "--principal", "User:bob", *sure)
    kconf(0, "topic", "delete", "week.*", "--allow-data-loss", *sure)
    until(lambda: kconf(0, "topic", "list")["items"], [])
