"""`kconf context` and how a cluster is selected; errors in the file are reported with their line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kconf.cli.main import main
from tests.cli.commands.scenarios import People, a_name
from tests.cli.conftest import Ran, run_in_process, run_program


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kconf" / "config.yaml"
    monkeypatch.delenv("KCONF_CONFIG", raising=False)
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return path


def kconf(*words: str) -> Ran:
    return run_in_process(main, list(words))


def test_contexts_are_added_listed_used_and_shown(config: Path) -> None:
    assert kconf("context", "add", "local", "-b", "localhost:9092").status == 0
    assert oct(config.stat().st_mode)[-3:] == "600"
    words = ["--property", "security.protocol=SASL_SSL", "--property", "sasl.mechanism=PLAIN", "--user", "alice"]
    words += ["--password", "${env:PW}", "--protected", "--label", "env=prod", "--journal", "changes"]
    assert kconf("context", "add", "prod-eu", "-b", "a:1,b:2", *words).status == 0
    assert kconf("context", "use", "prod-eu").status == 0

    listed = json.loads(kconf("context", "list", "-o", "json").out)
    shown = {each["field"]: each["value"] for each in json.loads(kconf("context", "show", "-o", "json").out)["items"]}

    assert (listed["current"], [each["context"] for each in listed["items"]]) == ("prod-eu", ["local", "prod-eu"])
    assert listed["items"][1]["labels"] == {"env": "prod"}
    assert (shown["password"], shown["bootstrap"], shown["protected"]) == ("${env:PW}", "a:1,b:2", True)
    assert shown["journal"] == str(Path.cwd() / "changes")
    assert kconf("context", "add", "local", "-b", "x:1").status == 2
    assert kconf("context", "add", "local", "-b", "x:1", "--replace").status == 0
    assert kconf("context", "use", "nobody").err == (
        f"kconf: no context 'nobody' in {config}; list them with `kconf context list`\n"
    )
    assert kconf("context", "add", "bad", "-b", "no address").status == 2


def test_editing_the_contexts_file_keeps_its_comments(config: Path) -> None:
    config.parent.mkdir()
    config.write_text(
        "# ours\ncurrent: a  # the one\ncontexts:\n"
        "  a:\n    bootstrap: x:1  # first\n  # before b\n  b:\n    bootstrap: y:1\n# the end\n"
    )
    config.chmod(0o600)

    for words in (["add", "c", "-b", "z:1"], ["add", "a", "-b", "x:2", "--replace"], ["use", "c"]):
        assert kconf("context", *words).status == 0

    text = config.read_text()
    assert [each for each in ("# ours", "# the one", "# before b", "# the end") if each not in text] == []
    listed = json.loads(kconf("context", "list", "-o", "json").out)
    assert {each["context"]: each["bootstrap"] for each in listed["items"]} == {"a": "x:2", "b": "y:1", "c": "z:1"}
    assert listed["current"] == "c"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contexts: {a: {bootstrap: 'x:1', bootsrap: 'x:2'}}", ":1:34: unknown field 'bootsrap' in the context 'a'"),
        ("contexts:\n  a: {read_only: true}", ":2:6: the context 'a' needs the field bootstrap"),
        ("contexts:\n  a: {bootstrap: 'x:1', protected: yes}", "protected must be true or false"),
        ("current: b\ncontexts: {a: {bootstrap: 'x:1'}}", ":1:10: no context 'b'"),
        ("contexts: [", "not YAML"),
        ("version: 2", "version 1 of the file only"),
        ("contexts: {a: {bootstrap: 'x:1', properties: {a: [1]}}}", "the value of a must be a string"),
    ],
)
def test_errors_in_the_contexts_file_are_reported(config: Path, text: str, said: str) -> None:
    config.parent.mkdir()
    config.write_text(text)
    config.chmod(0o600)
    ran = kconf("describe", "topic:x")
    assert ran.status == 2
    assert f"{config}:" in ran.err
    assert said in ran.err


def test_a_contexts_file_that_others_can_read_causes_a_warning(people: People) -> None:
    people.config.chmod(0o644)
    assert f"chmod 600 {people.config}" in people("topic list").err
    people.config.chmod(0o600)
    assert people("topic list").err == ""


def test_options_take_precedence_over_the_variable_and_the_current_context(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """-b takes precedence; no server listens at the other addresses."""
    people.add_context("nowhere", bootstrap="127.0.0.1:1")
    people("topic list")
    monkeypatch.setenv("KCONF_CONTEXT", "nowhere")
    people("topic list", status=4)
    people("topic list -C here")
    people(f"topic list -b {people.bootstrap}")
    people(f"topic list -C here -b {people.bootstrap}", status=2)
    monkeypatch.setenv("KCONF_CONTEXT", "nobody")
    people("topic list", status=2)


def test_a_glob_queries_several_clusters(people: People) -> None:
    name = a_name()
    people.topics(name, configs=[("segment.ms", "1000")])
    people.add_context("eu-1")
    people.add_context("eu-2", bootstrap="127.0.0.1:1")

    whole = people.whole(f"describe topic:{name} -C 'eu-*'", status=1)

    assert whole["contexts"] == ["eu-1", "eu-2"]
    assert [(each["context"], each["value"], each["error"]) for each in whole["items"]] == [
        ("eu-1", "1000", None),
        ("eu-2", None, "NETWORK_EXCEPTION"),
    ]
    assert [each["context"] for each in people.items(f"topic list {name} -C 'eu-*'", status=1)] == ["eu-1", "eu-2"]
    some = people.whole(f"describe 'topic:{name}-none*' -C 'e*'", status=1)
    assert some["notes"] == [f"eu-1: topic:{name}-none* matches nothing"]
    assert "matches 2" in people.whole(f"set topic:{name} segment.ms=2s -C 'eu-*'", status=2)["message"]
    assert people.whole("describe topic:x -C 'us-*'", status=2)["error"] == "INVALID_INPUT"


def test_references_in_a_context_are_resolved_or_reported(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    file = people.directory / "where.properties"
    file.write_text(f"address={people.bootstrap}\n")
    people.add_context("by-file", bootstrap=f"${{file:{file}:address}}")
    people.add_context("by-env", bootstrap="${env:KCONF_TEST_ADDRESS}")
    people.add_context("no-env", bootstrap="${env:KCONF_TEST_NOT_SET}")
    people.add_context("no-key", bootstrap=f"${{file:{file}:nothing}}")
    people.add_context("failing", user="u", password_command="exit 3", properties={"sasl.mechanism": "PLAIN"})
    monkeypatch.setenv("KCONF_TEST_ADDRESS", people.bootstrap)
    people("topic list -C by-file")
    people("topic list -C by-env")
    assert "KCONF_TEST_NOT_SET" in people("topic list -C no-env", status=2).err
    assert "nothing is not in the file" in people("topic list -C no-key", status=2).err
    assert "failed with exit code 3" in people("topic list -C failing", status=2).err


def test_context_test_shows_what_the_cluster_supports(people: People) -> None:
    people.add_context("nowhere", bootstrap="127.0.0.1:1")
    found = {each["capability"]: each["result"] for each in people.items("context test")}
    assert found == {
        **dict.fromkeys(["connect", "configs", "brokers", "quotas", "scram", "validate", "feed"], "yes"),
        "acls": "unsupported",
    }
    assert people.whole("context test nowhere", status=4)["error"] == "NETWORK_EXCEPTION"
    both = people.items("context test '*'", status=1)
    assert {each["context"] for each in both} == {"here", "nowhere"}


def test_a_password_from_a_command_is_used_to_log_in(people: People, tmp_path: Path) -> None:
    """On a server with SCRAM: the password is in no file of kconf and on no command line."""
    from tests.support.process import KconfProcess

    store = f"sqlite:///{tmp_path / 'scram.db'}"
    secret = tmp_path / "secret"
    secret.write_text('quoted "and\\ slashed')
    made = run_program("scram", "set", "--store", store, "--user", "ann", "--password-file", str(secret))
    assert made.status == 0, made
    properties = {"sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    with KconfProcess(properties=properties, listeners=["SASL_PLAINTEXT"], store=store) as server:
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512"}
        fields = {"bootstrap": server.address("SASL_PLAINTEXT"), "properties": login, "user": "ann"}
        people.add_context("ann", **fields, password_command=f"cat {secret}")
        people.add_context("eve", **fields, password="${env:HOME}")
        people("topic list -C ann")
        refused = people("topic list -C eve", status=4)
        assert os.environ["HOME"] not in refused.err


def test_two_contexts_are_refused_where_one_is_needed(people: People) -> None:
    people.add_context("other")

    one = people.whole("topic create x -C here -C other", status=2)
    several = people.whole("topic list -C here --context other", status=2)

    assert one["message"] == "-C was given twice: here and other"
    assert several["message"] == "--context was given twice: here and other; use a glob for several contexts"
    assert people.items("topic list -C here -C here") == people.items("topic list")


def test_a_removed_context_is_gone_and_no_longer_current(people: People) -> None:
    people.add_context("other")

    assert people("context remove nobody", status=2).err.startswith("kconf: no context 'nobody'")
    told = people("context remove here").err

    assert "here was the current context" in told
    assert [(e["context"], e["current"]) for e in people.items("context list")] == [("other", False)]
    refused = people("topic list", status=2).err
    assert refused == "kconf: no context is selected; use -C NAME or kconf context use NAME with one of other\n"
    people("context use other")
    assert "without a context, commands use localhost:9092" in people("context remove other").err
