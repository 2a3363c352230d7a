"""A server that does not start because of a dynamic config: start it without them, or remove one offline."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.cli.main import main
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.store.registry import open_store
from tests.security.sasl_server import PLAIN_MODULE
from tests.support.process import HOST, KconfProcess

BROKER, BROKERS = Resource.broker(1), Resource.brokers()
JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
REAUTH = "listener.name.sasl_plaintext.connections.max.reauth.ms"
LIMIT = "max.connections.per.ip.overrides"
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT")
PROPERTIES = {
    "sasl.enabled.mechanisms": "PLAIN",
    "plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="alice-secret";',
    "num.io.threads": "6",
}


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A store, perhaps of an older version, with configs that prevent a start or lock everybody out."""
    url = f"sqlite:///{tmp_path / 'kconf.db'}"
    values = [
        (BROKER, JAAS, "malformed-secret", True),
        (BROKER, REAUTH, "abc", False),
        (BROKER, "num.io.threads", "7", False),
        (BROKERS, LIMIT, "localhost:0", False),
    ]
    changes = [
        Change(ChangeKind.CONFIG, resource, key, None, value, "set", sensitive=secret)
        for resource, key, value, secret in values
    ]
    with closing(open_store(url)) as store:
        store.load()
        store.commit([PendingCommit(RequestContext("User:old"), 1000, changes, {})])
    return url


def unset(admin: SyncAdminClient, resource: Resource, *keys: str) -> None:
    admin.incremental_alter_configs({resource: [AlterConfigOp(OpType.DELETE, key) for key in keys]})[resource]


def test_a_failed_start_explains_how_to_recover(broken: str) -> None:
    with pytest.raises(RuntimeError, match="kconf serve --recover") as raised:
        KconfProcess(properties=PROPERTIES, store=broken, listeners=LISTENERS).start()
    assert "broker:1 and brokers" in str(raised.value)
    assert "Traceback" not in str(raised.value)
    assert "malformed-secret" not in str(raised.value)


def test_recover_starts_without_the_dynamic_configs_and_lists_them(broken: str) -> None:
    with KconfProcess(properties=PROPERTIES, store=broken, listeners=LISTENERS, args=["--recover"]) as server:
        ignored = [line for line in server.log().splitlines() if line.startswith("ignored: ")]
        assert ignored == [
            f"ignored: brokers {LIMIT}=localhost:0",
            f"ignored: broker:1 {REAUTH}=abc",
            f"ignored: broker:1 {JAAS}=[hidden]",
            "ignored: broker:1 num.io.threads=7",
        ]
        with SyncAdminClient(server.address("PLAINTEXT")) as admin:
            shown = {each.name: each.value for each in admin.describe_configs([BROKER])[BROKER].entries}
            assert shown["num.io.threads"] == "6", "what is in force is shown"
            for key in (JAAS, REAUTH):
                unset(admin, BROKER, key)
            unset(admin, BROKERS, LIMIT)
    with (
        KconfProcess(properties=PROPERTIES, store=broken, listeners=LISTENERS) as server,
        SyncAdminClient(server.address("PLAINTEXT")) as admin,
    ):
        shown = {each.name: each.value for each in admin.describe_configs([BROKER])[BROKER].entries}
        assert shown["num.io.threads"] == "7", "the rest is in force again"


def test_a_change_in_recovery_is_checked_against_what_the_next_start_reads(broken: str) -> None:
    with (
        KconfProcess(properties=PROPERTIES, store=broken, listeners=LISTENERS, args=["--recover"]) as server,
        SyncAdminClient(server.address("PLAINTEXT")) as admin,
    ):
        worse = AlterConfigOp(OpType.SET, "listener.name.sasl_plaintext.sasl.enabled.mechanisms", "NOPE")
        failures = admin.incremental_alter_configs({BROKER: [worse]}).failures
        assert "sasl.enabled.mechanisms (default: GSSAPI) contains NOPE" in str(failures[BROKER])


def test_a_config_that_is_removed_offline_is_in_the_journal(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "unset", "broker:1", JAAS, REAUTH, "--store", broken]) == 0
    out = capsys.readouterr().out
    assert "abc" in out
    assert "[hidden]" in out
    assert "malformed-secret" not in out
    assert main(["store", "unset", "brokers", LIMIT, "--store", broken]) == 0
    with (
        KconfProcess(properties=PROPERTIES, store=broken, listeners=LISTENERS) as server,
        SyncAdminClient(server.address("PLAINTEXT")) as admin,
    ):
        _, first, second = admin.list_changes().revisions
        assert [each.key for each in first.changes] == [JAAS, REAUTH]
        assert (first.caller.api, second.changes[0].key) == ("kconf store unset", LIMIT)
        assert main(["store", "unset", "broker:1", "num.io.threads", "--store", broken]) != 0, "it is in use"


def test_removing_an_unset_config_changes_nothing(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "unset", "broker:1", REAUTH, "log.retention.ms", "--store", broken]) == 2
    assert "log.retention.ms is not set on broker:1" in capsys.readouterr().err
    with closing(open_store(broken)) as store:
        assert REAUTH in store.load().overrides(BROKER)


def test_removing_a_config_from_a_missing_store_does_not_create_it(tmp_path: Path) -> None:
    assert main(["store", "unset", "broker:1", "x", "--store", f"sqlite:///{tmp_path / 'new.db'}"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_waits_for_zookeeper_stops_on_sigterm(tmp_path: Path) -> None:
    """The peer accepts the connection and never responds; without a signal the start fails after 15 s."""
    with socket.create_server((HOST, 0)) as silent:
        url = f"zookeeper://{HOST}:{silent.getsockname()[1]}/kconf"
        command = [sys.executable, "-m", "kconf", "serve", "--listen", f"{HOST}:0", "--store", url]
        server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            silent.accept()[0].close()
            server.terminate()
            out, _ = server.communicate(timeout=60)
        finally:
            server.kill()
            server.wait()
    assert (server.returncode, out) == (0, "kconf stopped\n")
