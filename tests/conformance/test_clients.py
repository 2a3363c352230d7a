"""Clients in Python, Java, JavaScript and Go run the same steps on kconf and on a real Kafka 4.3.1.

Java: the Admin of eight releases (java/AdminSteps.java). Those before 2.4 do not connect to a server that does not
advertise Produce. Kafka 4 no longer serves what some of the oldest send (KIP-896); kconf does. JavaScript: kafkajs
(node/). Go: franz-go, sarama and kafka-go (go/), the clients of kcl, of kaf and kafkactl, and of topicctl.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from lab.jars import CLIENTS, client_classpath
from lab.java import QUICK, java, javac
from lab.packages import go_program, node_modules
from tests.conformance.differential.scenarios.data_plane import await_coordinators
from tests.conformance.differential.side import Side
from tests.conformance.python_steps import Step, with_aiokafka, with_kafka_python, with_librdkafka
from tests.conformance.tooling import Pair, pair
from tests.support.targets import marked

HERE = Path(__file__).parent
ALWAYS = ("1.1.1", "2.3.1", "4.4.0")
STEPS = {"1.1.1": 23, "2.0.1": 28, "2.3.1": 28, "2.8.2": 35}
ALL_STEPS = 39
UNSUPPORTED = "UnsupportedVersionException"
SOON = 30.0  # for a real broker to show a change

Steps = dict[str, str]


@pytest.fixture(scope="module")
def both() -> Iterator[Pair]:
    """A separate pair, because requests about groups create internal topics on a broker."""
    with pair() as made:
        await_coordinators(Side("kafka", made.kafka.host, made.kafka.port))
        yield made


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled with the oldest client, so that the same code runs with all of them."""
    target = tmp_path_factory.mktemp("steps")
    flags = ["-proc:none", "-nowarn", "-Xlint:none", "-encoding", "UTF-8", "-cp", client_classpath(CLIENTS[0])]
    source = HERE / "java" / "AdminSteps.java"
    subprocess.run([javac(), *flags, "-d", str(target), str(source)], check=True, capture_output=True, timeout=300)
    return target


def steps(both: Pair, command: Sequence[str], environment: dict[str, str] | None = None) -> tuple[Steps, Steps]:
    """The outcome of each step on kconf and on Kafka."""
    line = [*command, both.kconf.bootstrap, both.kafka.bootstrap]
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Steps] = {"1": {}, "2": {}}
    for each in done.stdout.splitlines():
        number, step, outcome = each.split("|", 2)
        found[number][step] = outcome
    return found["1"], found["2"]


@pytest.mark.parametrize(
    "version", [each if each in ALWAYS else marked(each, pytest.mark.full) for each in CLIENTS], ids=str
)
def test_the_java_admin_of_every_release_gets_the_same_responses(both: Pair, classes: Path, version: str) -> None:
    path = f"{classes}:{client_classpath(version)}"

    ours, theirs = steps(both, [java(), *QUICK, "-cp", path, "AdminSteps", f"java-{version}"])

    assert ours == {step: ours[step] if each == UNSUPPORTED else each for step, each in theirs.items()}
    assert UNSUPPORTED not in ours.values()
    assert len(ours) == STEPS.get(version, ALL_STEPS)
    assert "STATIC_BROKER_CONFIG" in ours["broker"]
    assert (ours["created"], ours["deleted"]) == ("true", "false")


def compared(kconf: Iterable[Step], kafka: Iterable[Step]) -> tuple[Steps, Steps]:
    """The outcome of each step on kconf and then on Kafka, which is asked again while it may be behind."""
    ours = {step.name: step.outcome() for step in kconf}
    theirs: Steps = {}
    for step in kafka:
        deadline = time.monotonic() + (SOON if step.is_read else 0)
        while (found := step.outcome()) != ours[step.name] and time.monotonic() < deadline:
            time.sleep(0.05)
        theirs[step.name] = found
    return ours, theirs


@pytest.mark.parametrize("client", [with_librdkafka, with_kafka_python, with_aiokafka])
def test_python_clients_get_the_same_responses(both: Pair, client: Callable[[str], Iterable[Step]]) -> None:
    ours, theirs = compared(client(both.kconf.bootstrap), client(both.kafka.bootstrap))

    assert ours == theirs
    assert ours["created"] == "2"


def test_kafkajs_gets_the_same_responses(both: Pair) -> None:
    modules = node_modules("kafkajs", "2.2.4")

    ours, theirs = steps(both, ["node", str(HERE / "node" / "admin_steps.js")], {"NODE_PATH": str(modules)})

    assert ours == theirs
    assert [ours[step] for step in ("created", "grown", "deleted")] == ["true", "3", "false"]
    assert ours["offsets"].count('"high":"0","low":"0"') == 2


@pytest.mark.full
def test_go_clients_get_the_same_responses(both: Pair) -> None:
    ours, theirs = steps(both, [str(go_program(HERE / "go"))])

    assert ours == theirs
    assert [ours[f"{client} grown"] for client in ("franz-go", "sarama", "kafka-go")] == ["3", "3", "2"]
    assert len(ours) > 40
