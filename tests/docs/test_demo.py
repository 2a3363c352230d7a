"""The demo of `make run`, on an empty store and again on the same store; on SQLite and on ZooKeeper."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from examples.demo_commands import STEPS
from tests.support.targets import one_of

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.demo", "--listen", "127.0.0.1:0", "--store"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def demo(store: str, place: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, store, "--once", *options],
        cwd=place,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@contextmanager
def started(command: Sequence[str], place: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in its own group, which is killed with all its children at the end."""
    process = subprocess.Popen(
        command,
        cwd=place,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def running(store: str, place: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The demo, after it has started, and its output so far."""
    with started([*COMMAND, store, "--no-tables"], place) as process:
        yield process, said(process, until="Ctrl-C stops")


def said(process: subprocess.Popen[str], until: str) -> str:
    assert process.stdout is not None
    text = ""
    while until not in text:
        line = process.stdout.readline()
        assert line, f"it ended with {process.wait()}: {text}"
        text += line
    return text


def ports(text: str) -> list[tuple[str, int]]:
    """The ports of the servers, from the output of the demo."""
    return [(host, int(port)) for host, port in re.findall(r"listening on (\S+):(\d+)", text)]


def is_closed(address: tuple[str, int]) -> bool:
    with socket.socket() as line:
        return line.connect_ex(address) != 0


@pytest.mark.parametrize("store", one_of("sqlite:///demo.db", ["zookeeper"]))
def test_the_demo_runs_on_an_empty_store_and_again_on_what_it_left(store: str, tmp_path: Path) -> None:
    runs = [demo(store, tmp_path, "--no-tables"), demo(store, tmp_path, "--no-tables")]
    assert [each.returncode for each in runs] == [0, 0], runs[0].stderr + runs[1].stderr
    first, second = (each.stdout for each in runs)

    assert "orders: partitions 6, replicas 1, configs 33, of which its own: retention.ms=604800000" in first
    assert "orders: TOPIC_ALREADY_EXISTS" in second
    for told in (first, second):
        words = " ".join(told.split())
        assert "topic:orders: Invalid value 1 for configuration segment.bytes: must be at least 1048576" in words
        assert "topic:orders retention.ms 7d 1d topic dry run ! may delete data: retention is reduced" in words
        assert "topic:orders retention.ms 7d 14d topic done" in words
        assert "producer_byte_rate 10MiB user user ben applies" in words
        assert "producer_byte_rate 1MiB default user user (default) overridden" in words
        assert "7d 14d User:ana the auditors look back two weeks" in words
        assert "topic:orders retention.ms 14d 7d topic done" in words
        assert "kafka-configs.sh --bootstrap-server 127.0.0.1:" in told
        assert re.search(r"\nThe web console: http://127\.0\.0\.1:\d+/\n", told)
        assert ("A change acknowledged by one server is visible on the others" in told) == (store == "zookeeper")


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_demo_ends_with_tables_of_what_happened(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    done = demo("sqlite:///demo.db", tmp_path)

    words = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "topic:payments cleanup.policy differs delete delete,compact" in words
    assert re.search(r"retention\.ms 7d \S+ \S+ User:ben the audit is over", words)
    assert (tmp_path / ".run/report.html").stat().st_size > 0


def test_without_a_jdk_the_server_part_runs_and_the_pipeline_is_skipped_with_a_reason(tmp_path: Path) -> None:
    done = demo("sqlite:///demo.db", tmp_path, PATH=str(tmp_path), JAVA_HOME="")

    assert done.returncode == 0, done.stderr
    assert "topic:orders  retention.ms  14d  7d" in done.stdout
    last = done.stdout.partition("drift, report\n")[2].splitlines()[0]
    assert last.startswith("The pipeline requires Java 17 or newer")
    assert "The server is running" in done.stdout


@pytest.mark.parametrize("store", one_of("sqlite:///demo.db", ["zookeeper"]))
def test_ctrl_c_stops_all_that_was_started(store: str, tmp_path: Path) -> None:
    with running(store, tmp_path) as (process, text):
        os.killpg(process.pid, signal.SIGINT)

        assert process.wait(200) == 0
    assert len(ports(text)) == (4 if store == "zookeeper" else 1)
    assert all(map(is_closed, ports(text)))


@pytest.mark.parametrize("store", one_of("sqlite:///demo.db", ["zookeeper"]))
@pytest.mark.parametrize("sign", one_of(signal.SIGTERM, [signal.SIGHUP]), ids=["SIGTERM", "SIGHUP"])
def test_a_signal_to_the_demo_alone_stops_all_that_was_started(
    store: str, sign: signal.Signals, tmp_path: Path
) -> None:
    with running(store, tmp_path) as (process, text):
        process.send_signal(sign)
        process.communicate(timeout=200)

        assert process.returncode == 0
        assert all(map(is_closed, ports(text)))
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    assert len(ports(text)) == (4 if store == "zookeeper" else 1)


def test_sigterm_to_make_in_the_middle_of_the_scenario_stops_the_server(tmp_path: Path) -> None:
    here = [f"BIN={Path(sys.executable).parent}", "RUNS_ON=", "LISTEN=127.0.0.1:0", "STORE=sqlite:///demo.db"]
    with started(["make", "-f", str(ROOT / "Makefile"), "run", *here], tmp_path) as process:
        (address,) = ports(said(process, until="listening on"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=200)

        assert process.returncode != 0
        assert is_closed(address)
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


@pytest.mark.full
def test_sigterm_before_a_server_is_ready_stops_all_that_was_started(tmp_path: Path) -> None:
    with started([*COMMAND, "zookeeper", "--no-tables"], tmp_path) as process:
        (zookeeper,) = ports(said(process, until="ZooKeeper is listening on"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=200)

        assert process.returncode == 128 + signal.SIGTERM
        assert is_closed(zookeeper)


def test_a_server_does_not_outlive_a_demo_that_is_killed(tmp_path: Path) -> None:
    with running("sqlite:///demo.db", tmp_path) as (process, text):
        process.kill()
        process.communicate(timeout=200)

        (address,) = ports(text)
        assert is_closed(address)


def test_the_suggested_commands_work(tmp_path: Path) -> None:
    with running("sqlite:///demo.db", tmp_path) as (_, text):
        lines = [line.strip() for line in text.partition("In another terminal:")[2].splitlines()]
        asked = [line for line in lines if line.startswith("kconf ") and line not in ("kconf watch", "kconf shell")]
        environment = ENVIRONMENT | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KCONF_CONFIG": str(tmp_path / ".run/kconf.yaml"),
        }
        assert len(asked) == 2
        for line in asked:
            done = subprocess.run(
                ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (line, done.stdout, done.stderr)


@pytest.mark.full
def test_a_second_demo_does_not_affect_the_zookeeper_of_the_first(tmp_path: Path) -> None:
    with running("zookeeper", tmp_path):
        second = demo("zookeeper", tmp_path, "--no-tables")

    assert second.returncode == 1
    assert second.stderr == "Another `make run` is using .run/zookeeper; stop it first.\n"


def test_a_port_in_use_is_reported_with_a_solution(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = demo("sqlite:///demo.db", tmp_path, "--no-tables", "--listen", f"127.0.0.1:{port}")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"kconf: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port, or 0 for a free one",
        "make run LISTEN=127.0.0.1:0 picks a free port",
    ]


@pytest.mark.parametrize("listen", ["9092", "localhost", ":9092", "localhost:http"])
def test_an_invalid_address_is_reported(listen: str, tmp_path: Path) -> None:
    done = demo("sqlite:///demo.db", tmp_path, "--no-tables", "--listen", listen)

    sentence = f"LISTEN={listen} is not an address; use HOST:PORT, such as 127.0.0.1:9092\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)


@pytest.mark.parametrize("listen", ["nowhere.invalid:9092", "127.0.0.1:99999", "[::1]:99999"])
def test_an_unusable_address_is_reported_in_one_sentence(listen: str, tmp_path: Path) -> None:
    done = demo("sqlite:///demo.db", tmp_path, "--no-tables", "--listen", listen)

    assert (done.returncode != 0, done.stdout) == (True, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("kconf: ")


def test_step_titles_and_make_help_fit_80_columns() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert [title for title, *_ in STEPS if len(title) > 80] == []
    assert len(listed.splitlines()) > 8
    assert [line for line in listed.splitlines() if len(line) > 80] == []


@pytest.mark.full
def test_the_demo_uses_a_given_zookeeper(zookeeper_url: str, tmp_path: Path) -> None:
    done = demo(zookeeper_url, tmp_path, "--no-tables")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"store={zookeeper_url} ") == 3


def test_the_demo_on_zookeeper_without_a_jdk_fails_with_one_sentence(tmp_path: Path) -> None:
    done = demo("zookeeper", tmp_path, PATH=str(tmp_path), JAVA_HOME="")

    sentence = "Kafka and ZooKeeper need a JDK 17 or newer, and no `java` is in JAVA_HOME or on the PATH.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
