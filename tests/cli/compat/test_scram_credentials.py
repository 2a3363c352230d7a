"""`kconf scram-credentials`: cli-spec 14, on a real kconf process."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from kconf.cli.compat.kafka_configs.main import main as kafka_configs
from kconf.cli.compat.kip248.scram_credentials import _EXAMPLES
from kconf.cli.main import main
from tests.cli.conftest import Ran, run_in_process, run_program
from tests.support.process import KconfProcess

Run = Callable[[str], Ran]


@pytest.fixture
def command(server: KconfProcess) -> Run:
    return lambda line: run_in_process(
        main, ["scram-credentials", "--bootstrap-server", server.bootstrap, *shlex.split(line)]
    )


@pytest.fixture
def user() -> str:
    return f"u-{uuid4().hex[:12]}"


def test_the_example_of_the_kip_works(command: Run, user: str) -> None:
    """With a space after the comma, which Kafka's parser refuses."""
    pairs = "'SCRAM-SHA-256=[iterations=8192, password=alice-secret],SCRAM-SHA-512=[password=alice-secret]'"
    added = command(f"--add {pairs} --username {user}")
    told = command(f"--describe --username {user}")
    deleted = command(f"--delete SCRAM-SHA-512 --username {user}")

    assert added.out == f"Completed updating config for user {user}.\n"
    assert told.out == (
        f"SCRAM credential configs for user-principal '{user}' are "
        "SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096\n"
    )
    assert deleted.status == 0
    assert command(f"--describe --username {user}").out.endswith(" are SCRAM-SHA-256=iterations=8192\n")


def test_describe_without_a_name_lists_all(command: Run, user: str) -> None:
    command(f"--add SCRAM-SHA-256=[password=x] --username {user}")

    assert any(f"'{user}'" in line for line in command("--describe").lines)


def test_both_mechanisms_are_added_and_deleted_by_one_command(command: Run, user: str) -> None:
    command(f"--add SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=a,b=]c] --username {user}")

    assert command(f"--delete SCRAM-SHA-256,SCRAM-SHA-512 --username {user}").status == 0
    assert command(f"--describe --username {user}").status == 1


@pytest.mark.parametrize(
    "line",
    [
        "--add SCRAM-SHA-256=[password=hush]",
        "--delete SCRAM-SHA-256",
        "--delete SCRAM-SHA-1 --username u",
        "--delete SCRAM-SHA-256 --username nobody",
        "--add SCRAM-SHA-1=[password=hush] --username u",
        "--add SCRAM-SHA-256=password=hush --username u",
        "--add SCRAM-SHA-256=[iterations=4,password=hush] --username u",
        "--add SCRAM-SHA-256=[iterations=99999,password=hush] --username u",
        "--add SCRAM-SHA-256=[password=] --username u",
        "--add '' --username u",
        "--describe --username nobody",
    ],
)
def test_a_refusal_is_reported_in_one_sentence_without_the_secret(command: Run, line: str) -> None:
    done = command(line)

    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "hush" not in done.err


@pytest.mark.parametrize("line", ["", "--describe --delete SCRAM-SHA-256", "--add x --describe"])
def test_a_command_needs_exactly_one_action(line: str) -> None:
    assert run_program("scram-credentials", "--bootstrap-server", "x:1", *line.split()).status == 2


def test_credentials_can_be_changed_before_any_server_runs(tmp_path: Path, user: str) -> None:
    """Create the first user before the server starts, so that somebody can log in."""
    store = f"sqlite:///{tmp_path}/first.db"
    words = ["scram-credentials", "--store", store, "--username", user]
    pairs = "SCRAM-SHA-256=[password=hush],SCRAM-SHA-512=[iterations=8192,password=hush]"
    added = run_in_process(main, [*words, "--add", pairs])
    with KconfProcess(store=store) as server:
        asked = ["--bootstrap-server", server.bootstrap, "--describe", "--user", user]
        told = run_in_process(kafka_configs, asked)
    gone = run_in_process(main, [*words, "--delete", "SCRAM-SHA-256"])
    left = run_in_process(main, [*words, "--describe"])

    assert (added.status, gone.status) == (0, 0)
    assert told.out.endswith(" are SCRAM-SHA-256=iterations=4096, SCRAM-SHA-512=iterations=8192\n")
    assert left.out.endswith(" are SCRAM-SHA-512=iterations=8192\n")
    assert run_in_process(main, [*words, "--delete", "SCRAM-SHA-256"]).status == 1
    assert b"hush" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())


def test_every_example_works(server: KconfProcess, tmp_path: Path) -> None:
    found = re.findall(r"^  kconf (.*)$", _EXAMPLES.replace("\\\n", " "), re.MULTILINE)
    for line in found:
        here = line.replace("localhost:9092", server.bootstrap).replace("first.db", f"{tmp_path}/first.db")
        done = run_program(*shlex.split(here), environment={"ALICE_PASSWORD": "hush", "ADMIN_PASSWORD": "hush"})
        assert (done.status, done.err) == (0, ""), line
    assert len(found) == 5


def test_describing_a_missing_store_does_not_create_it(tmp_path: Path, user: str) -> None:
    file = tmp_path / "typo.db"
    for action in (["--describe"], ["--delete", "SCRAM-SHA-256"]):
        words = ["scram-credentials", "--store", f"sqlite:///{file}", "--username", user, *action]
        refused = run_in_process(main, words)

        assert (refused.status, file.exists()) == (1, False)
        assert f"no store at sqlite:///{file}" in refused.err
