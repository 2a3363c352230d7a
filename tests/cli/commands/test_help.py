"""Every example of `--help` is run, on a kconf process with the resources that the examples name."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from kconf import NewTopic, SyncAdminClient
from kconf.cli.main import COMMANDS, GROUPS, main, parser
from tests.cli.conftest import run_in_process, run_program
from tests.support.process import KconfProcess

PEOPLES = {
    name: COMMANDS[name] for group in ("configuration", "interactive use") for name in GROUPS[group] if name != "quota"
}
SERVERS = ("serve", "console", "policy", "backup", "store", "archive")
ELSEWHERE = (*SERVERS, "pipeline", "lake", "config-command", "kafka", "scram-credentials")
"""Commands that the table of clusters leaves out: kconf's own servers and lakes, and other tools' command lines."""
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Place(NamedTuple):
    """A directory with the files that examples name, and a cluster."""

    directory: Path
    bootstrap: str

    def words(self, line: str) -> list[str]:
        """The words of an example, with names replaced by those of this directory."""
        line = line.replace("localhost:9092", self.bootstrap).replace("/var/lib/kconf", str(self.directory))
        line = re.sub(r"/run/secrets/\w+", str(self.directory / "secret"), line)
        words = [re.sub("^pass show .*", "echo s3cret", word) for word in shlex.split(line)[1:]]
        return [*words, "--replace"] if words[:2] == ["context", "add"] else words


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A directory with a context `local`."""
    properties = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    with KconfProcess(properties=properties) as server, SyncAdminClient(server.bootstrap) as admin:
        topics = ("orders", "logs.a", "logs.b", "tmp.x")
        admin.create_topics([NewTopic(each, 1, 1) for each in topics]).raise_for_failures()
        (tmp_path / "names.txt").write_text("orders\nlogs.a\n")
        (tmp_path / "client.properties").write_text("")
        (tmp_path / "secret").write_text("s3cret\n")
        for name in ("local", "prod-eu"):
            assert run_program("context", "add", name, "-b", server.bootstrap).status == 0
        yield Place(tmp_path, server.bootstrap)


def text_of(name: str) -> str:
    found = import_module(f"kconf.cli.{PEOPLES[name]}").EXAMPLES
    return str(found[name] if isinstance(found, dict) else found)


def examples(name: str) -> list[str]:
    """The command lines of a help text; a backslash continues a line."""
    lines = re.findall(r"^  (kconf (?:.*\\\n)*.*)$", text_of(name), re.MULTILINE)
    return [re.sub(r"\\\n *", "", line).partition("            ")[0] for line in lines]


@pytest.mark.parametrize("name", PEOPLES)
def test_the_examples_work(place: Place, name: str) -> None:
    lines = examples(name)
    assert lines
    for line in lines:
        done = run_program(*place.words(line), environment={"KCONF_SCRAM_PASSWORD": "s3cret"})
        assert (done.status, "Traceback" in done.err) == (0, False), (line, done)


@pytest.mark.parametrize("name", PEOPLES)
def test_the_help_has_the_examples(name: str) -> None:
    shown = run_program(name, "--help")
    assert shown.status == 0
    assert " ".join(text_of(name).split()) in " ".join(shown.out.split())


def leaves(found: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers without subcommands."""
    below = [each for each in found._actions if isinstance(each, argparse._SubParsersAction)]
    if not below:
        yield found
    for each in below:
        for verb in each.choices.values():
            yield from leaves(verb)


@pytest.mark.parametrize("name", PEOPLES)
def test_every_verb_has_examples_of_its_own(name: str) -> None:
    verbs = [each for each in leaves(parser(name)) if each.prog.split()[1] == name]
    assert verbs
    for each in verbs:
        assert f"examples:\n  {each.prog}" in each.format_help(), each.prog


def test_every_command_has_a_line_in_the_help() -> None:
    text = parser().format_help()
    assert [name for name in COMMANDS if f"\n    {name} " not in text and f"\n    {name}\n" not in text] == []


def test_every_command_names_the_clusters_on_which_it_works() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/works-on.md").read_text()
    wanted = [name for name in COMMANDS if name not in ELSEWHERE]
    assert len(wanted) > 20
    assert [name for name in wanted if not re.search(rf"`{name}[` ]", page)] == []


@pytest.mark.parametrize(("word", "meant"), [("get", "describe or explain"), ("undo", "rollback"), ("topics", "topic")])
def test_a_command_name_of_another_tool_suggests_the_kconf_command(word: str, meant: str) -> None:
    ran = run_in_process(main, [word, "topic:orders"])

    assert (ran.status, ran.err.splitlines()[-1]) == (2, f"kconf: unknown command {word!r}; did you mean {meant}?")


def test_an_option_before_the_command_is_refused_with_its_place() -> None:
    ran = run_in_process(main, ["-C", "prod", "topic", "list"])

    expected = "kconf: pass options after the command: kconf topic -C …; see kconf --help"
    assert (ran.status, ran.err.splitlines()[-1]) == (2, expected)
