"""Clients and kconf's own commands on a gateway in front of a real cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.broker import KafkaBroker
from lab.jars import CLIENTS, client_classpath
from lab.java import QUICK, java
from lab.packages import go_program, node_modules
from tests.cli.commands.scenarios import SCENARIOS, People, a_name, one_topic_is_changed_at_once
from tests.conformance.differential.scenarios.data_plane import await_coordinators
from tests.conformance.differential.side import Side
from tests.conformance.test_clients import HERE, classes, steps  # noqa: F401  (a fixture)
from tests.conformance.test_commands import KNOWN_TO_39, own_config  # noqa: F401  (a fixture)
from tests.conformance.test_gateway import gateway
from tests.real_clients import test_confluent_kafka as librdkafka
from tests.support.targets import marked, one_of

VERSIONS = "kafka-go versions"
REFUSED = {"delete records", "reassign", "reassign to nothing", "tokens"}  # never passed on


@pytest.fixture(scope="module")
def front(kafka_431: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    await_coordinators(Side("kafka", kafka_431.host, kafka_431.port))
    with gateway(kafka_431, tmp_path_factory.mktemp("front") / "gw.db") as (address, _):
        yield address


@pytest.fixture(scope="module")
def front_392(kafka_392: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    await_coordinators(Side("kafka", kafka_392.host, kafka_392.port))
    with gateway(kafka_392, tmp_path_factory.mktemp("front") / "gw.db") as (address, _):
        yield address


@pytest.mark.parametrize("version", one_of("4.4.0", [each for each in CLIENTS if each != "4.4.0"]), ids=str)
def test_the_java_admin_works_through_a_gateway(
    kafka_431: KafkaBroker,
    front: str,
    classes: Path,  # noqa: F811
    version: str,
) -> None:
    java_admin(kafka_431, front, classes, version)


@pytest.mark.full
@pytest.mark.parametrize("version", CLIENTS)
def test_the_java_admin_works_through_a_gateway_of_3_9_2(
    kafka_392: KafkaBroker,
    front_392: str,
    classes: Path,  # noqa: F811
    version: str,
) -> None:
    java_admin(kafka_392, front_392, classes, version)


def java_admin(kafka: KafkaBroker, front: str, classes: Path, version: str) -> None:  # noqa: F811
    path = f"{classes}:{client_classpath(version)}"
    both: Any = SimpleNamespace(kconf=SimpleNamespace(bootstrap=front), kafka=kafka)

    ours, theirs = steps(both, [java(), *QUICK, "-cp", path, "AdminSteps", a_name(f"java-{version}")])

    ours["broker"] = ours["broker"].replace(kafka.bootstrap, "SERVER")  # its listeners
    assert {step: each for step, each in ours.items() if step not in REFUSED} == {
        step: each for step, each in theirs.items() if step not in REFUSED
    }


def test_librdkafka_works_through_a_gateway(front: str) -> None:
    admin = librdkafka.AdminClient({"bootstrap.servers": front})
    librdkafka.test_set_append_subtract_and_delete_change_only_the_named_keys(admin, a_name("rd"))
    librdkafka.test_partitions_can_be_added_but_not_removed(admin, a_name("rd"))


@pytest.mark.parametrize(
    "scenario",
    [each if each is one_topic_is_changed_at_once else marked(each, pytest.mark.full) for each in SCENARIOS],
    ids=lambda each: each.__name__,
)
def test_commands_work_through_a_gateway(scenario: Callable[[People], None], front: str, tmp_path: Path) -> None:
    scenario(People(tmp_path, front))


@pytest.mark.full
@pytest.mark.parametrize("scenario", KNOWN_TO_39, ids=lambda each: each.__name__)
def test_commands_work_through_a_gateway_of_3_9_2(
    scenario: Callable[[People], None], front_392: str, tmp_path: Path
) -> None:
    scenario(People(tmp_path, front_392))


@pytest.mark.full
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_kafkajs_and_go_clients_get_the_same_responses(release: str, request: pytest.FixtureRequest) -> None:
    kafka: KafkaBroker = request.getfixturevalue("kafka_431" if release == "4.3.1" else "kafka_392")
    address: str = request.getfixturevalue("front" if release == "4.3.1" else "front_392")
    both: Any = SimpleNamespace(kconf=SimpleNamespace(bootstrap=address), kafka=kafka)
    modules = {"NODE_PATH": str(node_modules("kafkajs", "2.2.4"))}
    for command in (["node", str(HERE / "node" / "admin_steps.js")], [str(go_program(HERE / "go"))]):
        ours, theirs = steps(both, command, modules)
        if VERSIONS in theirs:
            theirs[VERSIONS] = advertised(theirs[VERSIONS])
        shown = {step: each.replace(kafka.bootstrap, "SERVER") for step, each in ours.items()}
        assert {step: each for step, each in shown.items() if not is_refused(step)} == {
            step: each for step, each in theirs.items() if not is_refused(step)
        }


def advertised(names: str) -> str:
    """Those of the cluster's APIs that its gateway advertises too."""
    return names.replace('"AlterPartitionReassignments",', "")


def is_refused(step: str) -> bool:
    """Steps of Go have the name of their client before them."""
    return step in REFUSED or step.partition(" ")[2] in REFUSED
