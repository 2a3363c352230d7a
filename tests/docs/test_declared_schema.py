"""The JSON schema of declarative files accepts the same files as kconf, and the example of a cluster in git works."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kconf.configdef.lookup import keys_for
from kconf.engine.declarative.parser import read_declared
from kconf.util.yaml.reader import ParseErrors
from tests.docs.blocks import ROOT, read_page
from tests.support.process import KconfProcess

SCHEMA = json.loads((ROOT / "docs/reference/declared.schema.json").read_text())
EXAMPLE = ROOT / "examples/gitops"


def texts() -> Iterator[tuple[str, str]]:
    """Every declarative file in the docs and the examples."""
    for path in sorted(EXAMPLE.glob("cluster/*.yaml")):
        yield str(path.relative_to(ROOT)), path.read_text()
    for block in read_page(ROOT / "docs/how-to/declare.md").blocks:
        if block.language == "yaml":
            yield f"declare.md:{block.line}", block.text


def judge(text: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(_named(yaml.safe_load(text)))


def _named(value: Any) -> Any:
    """The document with string keys, as in JSON: broker IDs are strings."""
    if isinstance(value, dict):
        return {str(key): _named(each) for key, each in value.items()}
    return [_named(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "text"), list(texts()), ids=lambda each: each if "\n" not in each else "")
def test_declarations_in_docs_and_examples_are_accepted_by_both(name: str, text: str) -> None:
    judge(text)

    read_declared([(name, text)], keys_for)


@pytest.mark.parametrize(
    "text",
    [
        "topic: {}",
        "version: 2",
        "topics: {a: {partitions: 0}}",
        "topics: {a: {size: 1}}",
        "brokers: {first: {}}",
        "quotas: [{limits: {}}]",
        "quotas: [{user: a}]",
        "quotas: [{user: a, limits: {speed: 1}}]",
        "users: {a: {PLAIN: {}}}",
        "users: {a: {SCRAM-SHA-256: {passwordFrom: {vault: x}}}}",
        "acls: [{principal: alice, resource: 'topic:a', operations: READ}]",
        "acls: [{principal: 'User:a', resource: table, operations: READ}]",
        "selector: [tables]",
    ],
)
def test_invalid_declarations_are_refused_by_both(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        judge(text)
    with pytest.raises(ParseErrors):
        read_declared([("a.yaml", text)], keys_for)


def test_the_example_plan_exits_with_3_until_it_is_applied_and_then_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.setenv("KCONF_CONTEXT", "prod")
    monkeypatch.setenv("ORDERS_SERVICE_PASSWORD", "hunter2")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    with KconfProcess() as server:
        assert run("kconf", "context", "add", "prod", "-b", server.bootstrap).returncode == 0
        planned = run(str(EXAMPLE / "plan.sh"))
        assert (planned.returncode, "orders.placed" in planned.stdout) == (3, True), planned
        assert run("kconf", "apply", "kconf.plan", "--yes").returncode == 0
        assert run(str(EXAMPLE / "plan.sh")).returncode == 0
        assert run("kconf", "set", "topic:orders.placed", "retention.ms=30d").returncode == 0
        assert run(str(EXAMPLE / "plan.sh")).returncode == 3


def test_the_example_workflow_is_valid_yaml() -> None:
    workflow = yaml.safe_load((EXAMPLE / "workflow.yaml").read_text())

    assert [next(iter(step)) for step in workflow["jobs"]["kafka"]["steps"]] == ["uses", "run", "name", "name"]
