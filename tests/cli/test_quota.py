"""`kconf quota` on a real kconf process; on real brokers: tests/conformance/test_quota_command.py."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconf import QuotaEntity, SyncAdminClient
from kconf.cli.commands.quota.main import _EXAMPLES
from kconf.operations.quotas.file import as_csv, as_yaml, read_quotas
from tests.cli.conftest import run_program
from tests.cli.quota_scenarios import SCENARIOS, Quotas, many
from tests.support.process import KconfProcess
from tests.support.targets import one_of


@pytest.fixture
def quotas(server: KconfProcess) -> Quotas:
    return Quotas("-b", server.bootstrap)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(quotas: Quotas, scenario: Callable[[Quotas], None]) -> None:
    scenario(quotas)


@pytest.mark.parametrize("count", one_of(1500, [10_000]))
def test_many_quotas_are_loaded_exported_and_removed(quotas: Quotas, tmp_path: Path, count: int) -> None:
    many(quotas, tmp_path, count)


def test_the_examples_of_the_help_work(server: KconfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.strip() for line in _EXAMPLES.splitlines() if line.startswith("  kconf quota")]
    monkeypatch.chdir(tmp_path)
    for line in lines:
        done = run_program(*shlex.split(line)[1:], "-b", server.bootstrap)
        assert done.status == 0, (line, done)
    assert len(lines) == 8


def test_a_reason_is_recorded_in_the_journal(quotas: Quotas, admin: SyncAdminClient) -> None:
    quotas("set --user reasonable producer_byte_rate=7 --reason 'ticket 12'")

    (last,) = admin.list_changes(admin.list_changes(limit=1).current - 1).revisions
    assert last.caller.reason == "ticket 12"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("set producer_byte_rate=1", "pass the entity"),
        ("explain", "pass the entity"),
        ("set --user a", "the following arguments are required"),
        ("set --user a --user-default producer_byte_rate=1", "not allowed with"),
        ("set --user '' producer_byte_rate=1", "needs a name"),
        ("set --user a --ip 10.0.0.1 producer_byte_rate=1", "cannot be combined with --user or --client-id"),
        ("set --user a producer_byte_rate", "not KEY=VALUE"),
        ("set --user a producer_byte_rate=1 producer_byte_rate=2", "given twice"),
        ("set --user a producer_byte_rate=0", "must be greater than 0"),
        ("set --user a producer_byte_rate=1.5", "must be an integer"),
        ("set --user a producer_byte_rate=NaN", "producer_byte_rate"),
        ("set --user a request_percentage=NaN", "request_percentage"),
        ("set --user a request_percentage=Infinity", "request_percentage"),
        ("set --user a producer_byte_rate=much", "producer_byte_rate"),
        ("set --user a producer_byte_rate=none", "unset"),
        ("set --user a retention.ms=1", "is not a quota of user a"),
        ("set --ip 10.0.0.1 producer_byte_rate=1", "is not a quota of ip"),
        ("unset --user a", "or --all"),
        ("unset --user a --all producer_byte_rate", "or --all"),
        ("what-if --ip 10.0.0.1 connection_creation_rate=1", "what-if supports only users and client IDs"),
        ("set --user-default producer_byte_rate=1", "pass --yes"),
        ("load /nonexistent/quotas.yaml", "cannot be read"),
        ("export --out /nonexistent/quotas.yaml", "cannot be written"),
    ],
)
def test_invalid_arguments_are_usage_errors(server: KconfProcess, line: str, said: str) -> None:
    done = run_program("quota", *shlex.split(line), "-b", server.bootstrap)

    assert done.status == 2, done
    assert said in done.err
    assert len(done.err.splitlines()) == 1 or done.err.startswith("usage")


def test_an_unreachable_server_is_reported_with_exit_code_4() -> None:
    done = run_program("quota", "list", "-b", "127.0.0.1:1", "--timeout", "1", "-o", "json")

    assert done.status == 4
    assert json.loads(done.out)["error"] == "NETWORK_EXCEPTION"


def test_a_read_only_context_refuses_before_it_connects(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("contexts:\n  prod: {bootstrap: '127.0.0.1:1', read_only: true}\n")
    environment = {"KCONF_CONFIG": str(tmp_path / "config.yaml")}

    for line in ("set --user a producer_byte_rate=1", "unset --user a --all", "load nothing.yaml"):
        done = run_program("quota", *line.split(), "-C", "prod", environment=environment)
        assert (done.status, "read-only" in done.err) == (2, True), done


GOOD = "quotas:\n  - {user: a, limits: {producer_byte_rate: 1}}\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.yaml", "", "must contain a list under `quotas:`"),
        ("q.yaml", "quotas: []\n", "no quotas in"),
        ("q.yaml", "a: [", ":2:1: not YAML"),
        (
            "q.yaml",
            GOOD + "  - {user: a, limits: {consumer_byte_rate: 1}}\n",
            "lines 2 and 3 set quotas for the same",
        ),
        ("q.yaml", GOOD + "  - {user: b, user: c, limits: {consumer_byte_rate: 1}}\n", "line 3 has user twice"),
        ("q.yaml", GOOD + "  - {user: ~, limits: {consumer_byte_rate: 1}}\n", "line 3: a name is missing"),
        ("q.yaml", GOOD + "  - {user: b, producer_byte_rate: 1}\n", "line 3: 'producer_byte_rate' is not one of"),
        ("q.yaml", GOOD + "  - {user: b}\n", "line 3: a row needs a quota"),
        ("q.yaml", GOOD + "  - {limits: {producer_byte_rate: 1}}\n", "line 3: a row needs a user"),
        ("q.yaml", GOOD + "  - {user: b, user-default: true, limits: {producer_byte_rate: 1}}\n", "in one row"),
        ("q.yaml", GOOD + "  - {user: b, limits: {producer_byte_rate: -1}}\n", "line 3: producer_byte_rate must be"),
        ("q.yaml", GOOD + "  - {user: [b], limits: {producer_byte_rate: 1}}\n", "line 3: expected a single value"),
        ("q.yaml", GOOD + "  - b\n", "line 3: expected names and values"),
        ("q.yaml", "[" * 100_000, "q.yaml"),
        ("q.csv", "", "is empty"),
        ("q.csv", "user,rate\n", "unknown column 'rate'"),
        ("q.csv", "user,user\n", "twice"),
        ("q.csv", "user,producer_byte_rate\na\n", "line 2 has 1 cells, but the first line has 2"),
        ("q.csv", 'user,producer_byte_rate\n"a,1\n', "is not CSV"),
        ("q.csv", "user,user-default,producer_byte_rate\n,perhaps,1\n", "user-default must be true or false"),
        ("q.csv", "user,ip,producer_byte_rate\na,10.0.0.1,1\n", "line 2: an ip cannot be combined"),
    ],
)
def test_an_invalid_file_changes_nothing(
    quotas: Quotas, admin: SyncAdminClient, tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    before = admin.describe_client_quotas()

    done = quotas(f"load {tmp_path / name} --yes")

    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert admin.describe_client_quotas() == before


def test_a_refusal_of_the_server_is_reported_in_its_row(quotas: Quotas, tmp_path: Path) -> None:
    """An address that does not resolve fails; the other rows are applied."""
    path = tmp_path / "q.csv"
    path.write_text("ip,user,connection_creation_rate,producer_byte_rate\nnot.an.address.invalid,,5,\n,rows,,9\n")

    done = quotas(f"load {path} --yes -o json")

    first, second = json.loads(done.out)["items"]
    assert done.status == 1
    assert (first["line"], first["outcome"], first["error"]) == (2, "failed", "INVALID_REQUEST")
    assert (second["line"], second["outcome"], second["error"]) == (3, "done", None)
    assert list(second)[-2:] == ["error", "message"]


def test_what_if_checks_the_pairs_of_a_file(quotas: Quotas, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("user,client-id\nann,app\nann,\nbob,app\n")

    found = quotas.items(f"what-if --user ann controller_mutation_rate=40 --pairs {path}")

    assert [(each["user"], each["client_id"], each["old"], each["new"]) for each in found] == [
        ("ann", "app", None, "40"),
        ("ann", "", None, "40"),
    ]
    path.write_text("user,client-id\n,\n")
    assert "line 2 has neither" in quotas(f"what-if --user ann controller_mutation_rate=40 --pairs {path}").err


names = st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
entities = st.one_of(
    st.builds(lambda user: {"user": user}, names),
    st.builds(lambda client: {"client-id": client}, names),
    st.builds(lambda user, client: {"user": user, "client-id": client}, names, names),
).map(QuotaEntity.of)
amounts = st.integers(1, 2**53).map(float)


@settings(max_examples=200, deadline=None)
@given(stored=st.dictionaries(entities, st.fixed_dictionaries({"producer_byte_rate": amounts}), min_size=1, max_size=5))
def test_quotas_of_any_entity_are_read_back_from_a_file(
    tmp_path_factory: pytest.TempPathFactory, stored: dict[QuotaEntity, dict[str, float]]
) -> None:
    directory = tmp_path_factory.getbasetemp()
    for name, write in (("q.yaml", as_yaml), ("q.csv", as_csv)):
        (directory / name).write_bytes(write(stored).encode())
        assert {row.entity: row.changes for row in read_quotas(str(directory / name), None)} == stored


def test_loading_on_a_terminal_shows_the_plan_a_prompt_and_a_progress_bar(server: KconfProcess, tmp_path: Path) -> None:
    """On a terminal, 200 rows need confirmation, and a progress bar follows."""
    path = tmp_path / "q.csv"
    path.write_text("user,producer_byte_rate\n" + "".join(f"bar-{number},1\n" for number in range(200)))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kconf", "quota", "load", str(path), "-b", server.bootstrap, "-o", "csv"]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        try:
            assert b"user bar-7 " in _read(ours, b"[y/N] ")
            os.write(ours, b"y\n")
            assert b"200/200" in _read(ours, b"200/200")
            assert process.wait(60) == 0
        finally:
            process.kill()
            os.close(ours)


def _read(terminal: int, until: bytes) -> bytes:
    seen, ends = b"", time.monotonic() + 60
    while until not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, ends - time.monotonic()))
        assert ready, seen
        seen += os.read(terminal, 65536)
    return seen
