"""The JSON of every command, field by field and in order: version 1 must not change.

Values that differ between runs (addresses, IDs, messages) are replaced by their types. If a shape changes, review the
changed file in shapes/: `python -m tests.cli.commands.test_shapes` rewrites them.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.scenarios import People
from tests.support.process import KconfProcess

SHAPES = Path(__file__).parent / "shapes"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PROPERTIES = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
LINES = {
    "describe": ("describe topic:shape --key segment.ms", 0),
    "describe-missing": ("describe topic:not-there", 1),
    "set": ("set topic:shape segment.ms=1h", 0),
    "set-dry-run": ("set topic:shape segment.ms=2h --dry-run", 0),
    "set-not-done": ("set topic:shape retention.ms=1h", 2),
    "set-refused": ("set topic:shape segment.bytes=1", 1),
    "set-unreachable": ("set topic:shape segment.ms=1h -b 127.0.0.1:1", 4),
    "set-misused": ("set topic:shape segment.ms", 2),
    "set-unknown-option": ("set topic:shape segment.ms=1h --color", 2),
    "unset": ("unset topic:shape segment.ms", 0),
    "append": ("append topic:shape cleanup.policy=delete", 0),
    "subtract": ("subtract topic:shape cleanup.policy=compact", 0),
    "explain": ("explain topic:segment.ms", 0),
    "topic-create": ("topic create shape-2 --partitions 1 --replication-factor 1 --config segment.ms=1h", 0),
    "topic-list": ("topic list shape --long", 0),
    "topic-grow": ("topic grow shape-2 --partitions 2", 0),
    "topic-delete": ("topic delete shape-2 --allow-data-loss", 0),
    "acl-add": ("acl add --principal User:shape --operation read --on topic:shape", 0),
    "acl-list": ("acl list --principal User:shape", 0),
    "acl-who-can": ("acl who-can read topic:shape", 0),
    "acl-delete": ("acl delete --principal User:shape", 0),
    "scram-set": ("scram set --user shape --mechanism SCRAM-SHA-256 --password-command 'echo pw'", 0),
    "scram-list": ("scram list --user shape", 0),
    "scram-delete": ("scram delete --user shape", 0),
    "context-list": ("context list", 0),
    "context-show": ("context show here", 0),
    "context-test": ("context test here", 0),
    "context-use": ("context use here", 0),
    "context-add": ("context add other -b localhost:9092 --replace", 0),
    "context-remove": ("context remove other", 0),
}
_VARYING = ("context", "contexts", "bootstrap", "file", "message", "detail", "topic_id")


def shape(told: Any, name: str = "") -> Any:
    """The output, with types in place of values that differ between runs."""
    if name in _VARYING and told is not None:
        return f"<{type(told).__name__}>"
    if isinstance(told, dict):
        here = told.get("field") == "bootstrap"
        return {key: "<str>" if here and key == "value" else shape(each, key) for key, each in told.items()}
    if isinstance(told, list):
        return [f"<{type(each).__name__}>" if name == "notes" else shape(each) for each in told]
    return told


def told(people: People, name: str) -> str:
    line, status = LINES[name]
    return json.dumps(shape(json.loads(people(line, "--output", "json", status=status).out)), indent=2) + "\n"


@pytest.fixture(scope="module")
def server() -> Any:
    with KconfProcess(properties=PROPERTIES) as process:
        yield process


def test_the_json_of_every_command_is_unchanged(people: People) -> None:
    """All commands in one run, because each needs the result of the one before."""
    people.topics("shape")
    found = {name: told(people, name) for name in LINES}
    assert found == {path.stem: path.read_text() for path in SHAPES.glob("*.json")}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, KconfProcess(properties=PROPERTIES) as process:
        people = People(Path(directory), process.bootstrap)
        os.environ["KCONF_CONFIG"] = str(people.config)
        people.topics("shape")
        SHAPES.mkdir(exist_ok=True)
        for name in LINES:
            (SHAPES / f"{name}.json").write_text(told(people, name))


if __name__ == "__main__":
    main()
