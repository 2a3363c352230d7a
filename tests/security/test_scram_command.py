"""`kconf scram`: create the first user in a store before any server has opened it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kconf import AuthenticationFailed, Scram, SyncAdminClient
from kconf.cli.main import main
from tests.cli.conftest import run_in_process
from tests.support.process import KconfProcess

PASSWORD = "first pässword"
PROPERTIES = {"sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512"}


def scram(store: str, *words: str, given: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kconf", "scram", words[0], "--store", store, *words[1:]],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'kconf.db'}"


def gets_in(server: KconfProcess, user: str, mechanism: str = "SCRAM-SHA-512", password: str = PASSWORD) -> bool:
    sasl = Scram(user, password, mechanism)
    try:
        with SyncAdminClient(server.address("SASL_PLAINTEXT"), sasl=sasl) as admin:
            return bool(admin.describe_cluster().nodes)
    except AuthenticationFailed:
        return False


def test_users_created_in_a_new_store_can_log_in(store: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    assert scram(store, "set", "--user", "admin", "--password-file", str(file)).returncode == 0
    assert (
        scram(
            store, "set", "--user", "b", "--mechanism", "SCRAM-SHA-256", "--password-file", "-", given="x\n"
        ).returncode
        == 0
    )
    assert scram(store, "set", "--user", "c", "--mechanism", "SCRAM-SHA-512", KCONF_SCRAM_PASSWORD="y").returncode == 0
    assert [line.split() for line in scram(store, "list").stdout.splitlines()[1:]] == [
        ["admin", "SCRAM-SHA-256", "4096"],
        ["admin", "SCRAM-SHA-512", "4096"],
        ["b", "SCRAM-SHA-256", "4096"],
        ["c", "SCRAM-SHA-512", "4096"],
    ]
    with KconfProcess(properties=PROPERTIES, listeners=["SASL_PLAINTEXT"], store=store) as server:
        assert gets_in(server, "admin")
        assert gets_in(server, "admin", "SCRAM-SHA-256")
        assert gets_in(server, "b", "SCRAM-SHA-256", "x")
        assert not gets_in(server, "b", "SCRAM-SHA-512", "x")
        assert not gets_in(server, "admin", password="x")
        busy = scram(store, "list")
        assert busy.returncode == 1
        assert "kconf.db" in busy.stderr
    assert scram(store, "delete", "--user", "admin").returncode == 0
    assert "admin" not in scram(store, "list").stdout


def test_no_output_contains_a_password(store: str) -> None:
    done = scram(store, "set", "--user", "u", "--password-file", "-", given=PASSWORD)
    assert done.returncode == 0
    assert PASSWORD not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (("set", "--user", "u"), 2, "--password-file"),
        (("set",), 2, "--user"),
        (("delete", "--user", "u"), 1, "no such credential"),
        (("list", "--user", "u"), 1, "no SCRAM credential"),
        (("set", "--user", "u", "--iterations", "5", "--password-file", __file__), 2, "iterations"),
        (("set", "--user", "u", "--password-file", "/nowhere/at/all"), 2, "cannot read"),
    ],
)
def test_an_invalid_request_is_reported_in_one_sentence(
    store: str, words: tuple[str, ...], status: int, why: str
) -> None:
    done = run_in_process(main, ["scram", words[0], "--store", store, *words[1:]])
    assert done.status == status
    assert why in done.err
