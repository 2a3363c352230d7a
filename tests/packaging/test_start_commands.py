"""The Makefile, the systemd units and the Dockerfile start kconf with arguments that it accepts."""

from __future__ import annotations

import json
import shlex
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from kconf.cli.main import parse_arguments

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "examples").glob("*.service"))


def gateway_of_make(*variables: str) -> Namespace:
    """The options with which `make run` starts a gateway."""
    command = ["make", "-n", "run", *variables]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout
    (line,) = [each for each in printed.splitlines() if "kconf serve" in each]
    return parse_arguments(shlex.split(line)[1:])


def test_make_run_starts_a_gateway_that_follows_the_log_if_there_are_controllers() -> None:
    options = gateway_of_make("UPSTREAM=kafka:9092", "CONTROLLERS=controller:9093")

    assert (options.upstream, options.controllers) == ("kafka:9092", "controller:9093")


def test_make_run_starts_a_gateway_that_polls_if_there_are_no_controllers() -> None:
    options = gateway_of_make("UPSTREAM=kafka:9092")

    assert (options.upstream, options.controllers) == ("kafka:9092", None)


def test_make_run_leaves_the_port_of_a_broker_on_this_machine_to_the_broker() -> None:
    options = gateway_of_make("UPSTREAM=127.0.0.1:9092")

    assert options.listen == ["127.0.0.1:9192"]
    assert options.store == "sqlite:///.run/gateway.db"


def test_make_run_takes_an_address_and_a_store_for_a_gateway() -> None:
    options = gateway_of_make("UPSTREAM=kafka:9092", "LISTEN=127.0.0.1:9300", "STORE=sqlite:///other.db")

    assert (options.listen, options.store) == (["127.0.0.1:9300"], "sqlite:///other.db")


def command_of(unit: Path) -> list[str]:
    (line,) = [each for each in unit.read_text().splitlines() if each.startswith("ExecStart=")]
    return shlex.split(line.removeprefix("ExecStart="))


@pytest.mark.parametrize("unit", UNITS, ids=lambda each: each.name)
def test_a_systemd_unit_starts_kconf(unit: Path) -> None:
    program, *arguments = command_of(unit)

    assert program == "/opt/kconf/bin/kconf"
    assert parse_arguments(arguments).run


def test_the_systemd_units_use_different_metrics_addresses() -> None:
    addresses = [parse_arguments(command_of(each)[1:]).metrics for each in UNITS]

    assert len(addresses) >= 3
    assert len(set(addresses)) == len(addresses)


def test_the_image_starts_a_server_and_with_other_arguments_a_gateway() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    (command,) = [json.loads(each.removeprefix("CMD ")) for each in lines if each.startswith("CMD ")]
    (example,) = [each for each in lines if each.startswith("#") and "--upstream" in each]
    arguments = shlex.split(example)

    assert parse_arguments(command).store == "sqlite:////var/lib/kconf/kconf.db"
    gateway = parse_arguments(arguments[arguments.index("serve") :])
    assert gateway.upstream
    assert gateway.store.startswith("sqlite:////var/lib/kconf/")
