"""Secrets are passed to the commands in every possible way: no command prints or stores them.

The commands run with their own home directory, so that histories, caches and journals are searched too. At the end, the
files of the server, its backup and its archive are searched.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconf import Mechanism, SyncAdminClient, scram_upsertion
from tests.security.sasl_server import PLAIN_MODULE
from tests.support.process import HOST, KconfProcess
from tests.support.secrets import assert_nowhere, assert_private, assert_unsaid, leaks

SECRET = "Tr0ub4dor"
KEY = "listener.name.sasl_plaintext.ssl.keystore.password"
GIVEN = "given"  # written by this test itself, with the secret

PLAIN = "PLAINTEXT"
SASL = "SASL_PLAINTEXT"


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    properties = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="{SECRET}-plain";',
        "password.encoder.secret": f"{SECRET}-encoder",
    }
    args = ["--metrics", f"{HOST}:0", "--log-level", "DEBUG", "--archive", "archive"]
    with KconfProcess(properties=properties, listeners=(PLAIN, SASL), args=args) as made:
        with SyncAdminClient(made.address(PLAIN)) as admin:
            admin.create_topics(["orders"]).raise_for_failures()
            bob = scram_upsertion("bob", Mechanism.SCRAM_SHA_256, SECRET)
            admin.alter_user_scram_credentials([bob]).raise_for_failures()
        yield made


@pytest.fixture(scope="module")
def home(server: KconfProcess) -> Path:
    made = server.directory / "home"
    made.mkdir()
    return made


def given(home: Path, text: str) -> Path:
    """A file with a secret, written by the test."""
    directory = home / str(len(list(home.iterdir())))
    directory.mkdir()
    file = directory / GIVEN
    file.touch(0o600)
    file.write_text(text)
    return file


def run(home: Path, *command: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command, whose output must not contain the secret."""
    where = {f"XDG_{name}_HOME": str(home / name) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    return subprocess.run(
        [sys.executable, "-m", "kconf", *command],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=home,
        env={**os.environ, "HOME": str(home), **where, **variables},
    )


COMMANDS: dict[str, tuple[int, str]] = {
    # exit code and words: B is the server, K a key, S the secret, F a file that has it, P a command that prints it
    "kafka-configs, a password": (0, "kafka-configs --bootstrap-server {B} --alter --broker 1 --add-config {K}={S}"),
    "the same, tried": (0, "kafka-configs --bootstrap-server {B} --alter --broker 1 --add-config {K}={S} --dry-run"),
    "the same, as JSON": (
        0,
        "kafka-configs --bootstrap-server {B} --alter --broker 1 --add-config {K}={S} --dry-run --output json",
    ),
    "an unknown key": (0, "kafka-configs --bootstrap-server {B} --alter --broker 1 --add-config my.token={S}"),
    "for all brokers": (
        1,
        "kafka-configs --bootstrap-server {B} --alter --broker-defaults --add-config {K}={S} --debug",
    ),
    "a bare key": (1, "kafka-configs --bootstrap-server {B} --alter --broker 1 --add-config ssl.keystore.password={S}"),
    "SCRAM": (0, "kafka-configs --bootstrap-server {B} --alter --user bob --add-config SCRAM-SHA-256=[password={S}]"),
    "SCRAM, tried": (
        0,
        "kafka-configs --bootstrap-server {B} --alter --user bob --add-config SCRAM-SHA-256=[password={S}] --dry-run",
    ),
    "SCRAM, from a file": (
        0,
        "kafka-configs --bootstrap-server {B} --alter --user bob --add-config SCRAM-SHA-256=[password=@{F}]",
    ),
    "SCRAM, from a variable": (
        0,
        "kafka-configs --bootstrap-server {B} --alter --user bob --add-config SCRAM-SHA-256=[password=env:V]",
    ),
    "SCRAM, too few iterations": (
        1,
        "kafka-configs --bootstrap-server {B} --alter --user b --add-config SCRAM-SHA-256=[iterations=1,password={S}]",
    ),
    "SCRAM, malformed": (
        1,
        "kafka-configs --bootstrap-server {B} --alter --user bob --add-config SCRAM-SHA-256=[pass={S}]",
    ),
    "describe": (0, "kafka-configs --bootstrap-server {B} --describe --broker 1 --all"),
    "describe as JSON": (0, "kafka-configs --bootstrap-server {B} --describe --broker 1 --all --output json"),
    "describe users": (0, "kafka-configs --bootstrap-server {B} --describe --user bob"),
    "config-command": (
        0,
        "config-command --bootstrap-server {B} --alter --entity-type brokers --entity-name 1 --add-config {K}={S}",
    ),
    "config-command, refused": (
        1,
        "config-command --bootstrap-server {B} --alter --entity-type brokers --entity-name 7 --add-config {K}={S}",
    ),
    "config-command, describe": (0, "config-command --bootstrap-server {B} --describe --entity-type brokers"),
    "scram-credentials": (
        0,
        "scram-credentials --bootstrap-server {B} --username bob --add SCRAM-SHA-256=[password={S}]",
    ),
    "scram-credentials, malformed": (
        1,
        "scram-credentials --bootstrap-server {B} --username bob --add SCRAM-SHA-256=[passwort={S}]",
    ),
    "scram-credentials, describe": (0, "scram-credentials --bootstrap-server {B} --describe"),
    "scram": (0, "scram set -b {B} --user bob --password-file {F}"),
    "scram, from a command": (0, "scram set -b {B} --user bob --password-command {P}"),
    "scram, from a variable": (0, "scram set -b {B} --user bob"),
    "scram, list": (0, "scram list -b {B}"),
    "set": (0, "set -b {B} broker:1 {K}={S} --yes"),
    "set, from a file": (0, "set -b {B} broker:1 {K}=@{F} --yes"),
    "set, tried": (0, "set -b {B} broker:1 {K}={S} --dry-run"),
    "set, tried, as JSON": (0, "set -b {B} broker:1 {K}={S} --dry-run -o json"),
    "set, as JSON": (0, "set -b {B} broker:1 {K}={S} --yes -o json"),
    "describe, ours": (0, "describe -b {B} broker:1"),
    "describe, ours, as JSON": (0, "describe -b {B} broker:1 -o json"),
    "export": (0, "export -b {B}"),
    "kafka": (
        1,
        "kafka --broker-list {B} --alter-config --entity-type topic --entity-name orders --added-config my.token={S}",
    ),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_no_command_repeats_a_secret(server: KconfProcess, home: Path, what: str) -> None:
    code, line = COMMANDS[what]
    file = given(home, SECRET)
    words = {"B": server.address(PLAIN), "K": KEY, "S": SECRET, "F": str(file), "P": f"cat {file}"}
    command = [word.format(**words) for word in line.split(" ")]
    done = run(home, *command, V=SECRET, KCONF_SCRAM_PASSWORD=SECRET)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout + done.stderr
    assert_unsaid(done.stdout + done.stderr, [SECRET], what)
    assert "Traceback" not in done.stderr or "--debug" in line


def test_the_shell_prints_no_secret_and_stores_no_history(server: KconfProcess, home: Path) -> None:
    lines = f"alter topic orders retention.ms={SECRET}\nalter topic orders my.token={SECRET}\nhelp\nnonsense {SECRET}\n"
    done = run(home, "kafka", "--shell", "--keep-going", "--broker-list", server.address(PLAIN), stdin=lines)
    assert done.stdout
    assert_nowhere(server.directory, [SECRET], but=[GIVEN, "server.properties"])


@pytest.mark.parametrize(
    ("command", "code"),
    [("kafka-configs --describe --topic orders", 1), ("describe topic:orders", 4), ("scram list", 4)],
)
def test_the_message_of_a_failed_login_contains_no_secret(
    server: KconfProcess, home: Path, command: str, code: int
) -> None:
    login = (
        f"bootstrap.servers={server.address(SASL)}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={PLAIN_MODULE} required username="alice" password="{SECRET}-wrong";\n'
    )
    where = ["--bootstrap-server", server.address(SASL), "--command-config", str(given(home, login))]
    done = run(home, *command.split(), *where)
    assert done.returncode == code
    assert_unsaid(done.stdout + done.stderr, [SECRET])


@pytest.mark.parametrize(
    "line",
    [
        f'sasl.jaas.config={PLAIN_MODULE} required username="alice" password="{SECRET}',
        f"sasl.jaas.config={SECRET}",
        f"ssl.keystore.key={SECRET}",
        f"sasl.mechanism={SECRET}",
        f"ssl.truststore.password={SECRET}",
    ],
)
def test_a_file_that_cannot_be_used_is_not_quoted(server: KconfProcess, home: Path, line: str) -> None:
    text = f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.location=/nowhere\n{line}\n"
    done = run(
        home,
        *("kafka-configs", "--bootstrap-server", server.address(SASL), "--describe", "--topic", "orders"),
        *("--command-config", str(given(home, text))),
    )
    assert done.returncode == 1
    if not line.startswith("sasl.mechanism"):
        assert_unsaid(done.stdout + done.stderr, [SECRET])
    assert "Traceback" not in done.stderr


def test_no_file_written_by_the_server_or_the_commands_has_a_secret(server: KconfProcess, home: Path) -> None:
    """Searches the store, the log, the archive, a backup, and all files of the commands that ran before."""
    backup = server.directory / "backup.db"
    done = run(home, "backup", "--store", server.store, str(backup))
    assert done.returncode == 0, done.stderr
    server.restart()  # writes everything
    read = assert_nowhere(server.directory, [SECRET], but=[GIVEN, "server.properties"])
    assert read > 5
    written = {each.name: each for each in server.directory.rglob("*") if each.is_file()}
    assert {"kconf.db", "kconf.log", "backup.db", "kconf.db.key"} <= written.keys()
    assert any(name.endswith(".jsonl") for name in written), "there is an archive"
    assert_private(each for name, each in written.items() if name.startswith(("kconf.db", "backup.db")))
    assert leaks((server.directory / "server.properties").read_bytes(), [SECRET]), "it would be found"
