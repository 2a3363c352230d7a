"""Completion: the possible next words of a command line, and completion in a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kconf.cli.common.completion import suggestions
from kconf.cli.main import PROGRAM
from tests.cli.commands.scenarios import People, a_name


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("des", ["describe"]),
        ("topic ", ["list", "create", "delete", "grow"]),
        ("topic gr", ["grow"]),
        ("describe ", ["topic:", "broker:", "group:", "client-metrics:", "broker-logger:"]),
        ("history bro", ["broker:", "broker-logger:"]),
        ("describe topic:x --out", ["--output"]),
        ("describe topic:x --output ", ["table", "json", "csv"]),
        ("describe topic:x -C ", ["here"]),
        ("context use ", ["here"]),
        ("set topic:x compression.ty", ["compression.type="]),
        ("set topic:x preallocate=", ["preallocate=false", "preallocate=true"]),
        ("set topic:x message.timestamp.type=C", ["message.timestamp.type=CreateTime"]),
        ("unset topic:x retention.m", ["retention.ms"]),
        ("set topic:x message.format", []),  # a key of 3.9; the cluster has those of 4.3
        ("append topic:x clean", ["cleanup.policy="]),
        ("explain unclean", ["unclean.leader.election.enable", "unclean.leader.election.interval.ms"]),
        ("set broker:def", ["broker:default"]),
        ("describe 'broker:", ["broker:default", "broker:1"]),
        ("nonsense x", []),
        ("describe topic:x 'open", []),
    ],
)
def test_each_position_of_a_line_has_its_completions(people: People, line: str, some: list[str]) -> None:
    assert list(suggestions(PROGRAM, line)) == some


def test_resource_names_are_completed_from_the_cluster(people: People) -> None:
    prefix = a_name("complete")
    people.topics(f"{prefix}.b", f"{prefix}.a")

    assert list(suggestions(PROGRAM, f"set topic:{prefix}")) == [f"topic:{prefix}.a", f"topic:{prefix}.b"]
    assert list(suggestions(PROGRAM, f"topic delete {prefix}")) == [f"{prefix}.a", f"{prefix}.b"]
    assert list(suggestions(PROGRAM, f"describe topic:{prefix} -b 127.0.0.1:1 topic:{prefix}")) == []


def test_keys_of_every_release_are_completed_if_the_cluster_does_not_answer(people: People) -> None:
    assert list(suggestions(PROGRAM, "set topic:x -b 127.0.0.1:1 message.form")) == ["message.format.version="]


def test_completion_works_in_bash(people: People, tmp_path: Path) -> None:
    """Bash replaces only the part of a word after its last colon or equals sign."""
    name = a_name("bash")
    people.topics(name)
    program = tmp_path / "kconf"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kconf "$@"\n')
    program.chmod(0o755)
    script = """
source <(kconf completion bash)
for COMP_LINE in "kconf desc" "kconf describe topic:bash" "kconf set topic:x preallocate=t"; do
    COMP_POINT=${#COMP_LINE}
    _kconf 2>/dev/null
    echo "${COMPREPLY[@]}"
done
"""
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout.splitlines() == ["describe", name, "true"]
