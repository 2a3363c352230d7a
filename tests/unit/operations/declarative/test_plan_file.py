"""Plan files: read back unchanged, and refused with a clear message if invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kconf.engine.declarative.diff import Difference
from kconf.engine.declarative.model import SecretSource, SourceLocation
from kconf.errors import ConfigurationError
from kconf.model.entry import Source
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.declarative.plan import DifferencePlan
from kconf.operations.declarative.plan_file import read_plan, write_plan

DIFFERENCES = [
    Difference(
        ChangeKind.CONFIG,
        Resource.topic("ü\n"),
        "set",
        "a",
        None,
        "1",
        "2",
        "1",
        Source.DEFAULT,
        SourceLocation("f", 1, 2),
    ),
    Difference(ChangeKind.TOPIC, Resource.topic("t"), "delete", "", "{}", None, pruned=True),
    Difference(
        ChangeKind.CONFIG,
        Resource(ResourceType.SCRAM, "u"),
        "set",
        "SCRAM-SHA-256",
        None,
        "iterations=4096",
        sensitive=True,
        secret=SecretSource("env", "P"),
    ),
]


def test_a_plan_is_read_back_as_it_was(tmp_path: Path) -> None:
    write_plan(str(tmp_path / "p"), DifferencePlan("C", DIFFERENCES, {}, ["noted"]), "prod")

    assert read_plan(str(tmp_path / "p")) == DifferencePlan("C", DIFFERENCES, {}, [])
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o600


def plan(**more: Any) -> str:
    return json.dumps({"kind": "plan", "format": 1, "cluster": "C", "changes": [], **more})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is not JSON; create one with `kconf plan --out`"),
        ("[" * 100_000, "it is not JSON; create one with `kconf plan --out`"),
        ("[]", "create one with `kconf plan --out`"),
        ('{"kind": "snapshot"}', "create one with `kconf plan --out`"),
        (plan(format=2), "this version reads format 1 only"),
        (plan(changes=[{}]), "a change in it is incomplete"),
        (plan(changes=None), "a change in it is incomplete"),
        (
            plan(changes=[{"kind": "config", "resource_type": "topic", "resource_name": 7}]),
            "a change in it is incomplete",
        ),
    ],
)
def test_an_invalid_plan_is_refused_in_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "p").write_text(text)

    with pytest.raises(ConfigurationError, match=told):
        read_plan(str(tmp_path / "p"))
