"""The JSON of every command about files and history, field by field and in order: version 1 must not change.

Like tests/cli/commands/test_shapes.py; `python -m tests.cli.declarative.test_shapes` rewrites the files in shapes/.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.cli.commands.scenarios import People
from tests.cli.declarative.conftest import AUTHORIZER
from tests.support.process import KconfProcess

SHAPES = Path(__file__).parent / "shapes"
LINES = {
    "export": ("export topic:shape.a --to {place}/out --force", 0),
    "export-printed": ("export topic:shape.a", 0),
    "plan": ("plan -f {place}/files --prune=topics,users,acls,quotas", 3),
    "plan-mistake": ("plan -f {place}/bad.yaml", 2),
    "plan-impossible": ("plan -f {place}/impossible.yaml", 1),
    "apply-dry-run": ("apply -f {place}/files --dry-run", 0),
    "apply-not-done": ("apply -f {place}/files", 2),
    "apply": ("apply -f {place}/files --yes --reason why", 0),
    "apply-nothing": ("apply -f {place}/files --yes", 0),
    "history": ("history topic:shape.a --last 1", 0),
    "blame": ("blame topic:shape.a", 0),
    "diff-times": ("diff topic:shape.a --from 1h", 3),
    "diff-clusters": ("diff topic:shape.a --against there", 0),
    "rollback": ("rollback topic:shape.a --to {revision} --yes", 0),
    "snapshot": ("snapshot --out {place}/snapshots", 0),
}
FILES = """
selector: [topic:shape.*, quota:shape]
topics:
  shape.a: {partitions: 2, configs: {segment.ms: 1h}}
  shape.new: {partitions: 1, replication: 1, configs: {segment.ms: 1h}}
quotas: [{user: shape, limits: {request_percentage: 10}}]
acls: [{principal: User:shape, resource: topic:shape.a, operations: READ}]
"""
_VARYING = ("cluster", "file", "message", "time", "revision", "host", "lines", "bytes")


def shape(told: Any, name: str = "") -> Any:
    """The output, with types in place of values that differ between runs."""
    if name in _VARYING and told is not None:
        return f"<{type(told).__name__}>"
    if isinstance(told, dict):
        return {key: shape(each, key) for key, each in told.items()}
    if isinstance(told, list):
        return [f"<{type(each).__name__}>" if name == "notes" else shape(each) for each in told]
    return told


def all_told(people: People) -> dict[str, str]:
    """All commands in one run, because each needs the result of the one before."""
    place = people.directory
    (place / "files").mkdir()
    (place / "files" / "a.yaml").write_text(FILES)
    (place / "bad.yaml").write_text("topics: []")
    (place / "impossible.yaml").write_text("topics: {shape.a: {replication: 3}}")
    people.add_context("there")
    people.topics("shape.a", configs=[("segment.ms", "7200000")])
    people.topics("shape.b", configs=[("max.message.bytes", "2000000")])
    with people.admin() as admin:
        revision = admin.list_changes(-1).current
    found = {}
    for name, (line, status) in LINES.items():
        words = line.format(place=place, revision=revision)
        ran = people(words, "--output", "json", status=status)
        found[name] = json.dumps(shape(json.loads(ran.out)), indent=2, ensure_ascii=False) + "\n"
    return found


def test_the_json_of_every_command_is_unchanged(people: People) -> None:
    assert all_told(people) == {path.stem: path.read_text() for path in SHAPES.glob("*.json")}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, KconfProcess(properties=AUTHORIZER) as process:
        people = People(Path(directory), process.bootstrap)
        os.environ["KCONF_CONFIG"] = str(people.config)
        SHAPES.mkdir(exist_ok=True)
        for name, text in all_told(people).items():
            (SHAPES / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main()
