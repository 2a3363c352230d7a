"""`kconf shell`, fed by a script and typed on a terminal."""

from __future__ import annotations

import sys

from tests.cli.commands.scenarios import People, a_name, until
from tests.cli.conftest import run_program
from tests.support.terminal import Terminal


def test_a_script_is_executed_line_by_line(people: People) -> None:
    name = a_name()
    people.topics(name)

    ran = run_program("shell", "-C", "here", stdin=f"# first\nset topic:{name} segment.ms=1h\ndescribe topic:{name}\n")

    assert (ran.status, ran.err) == (0, "")
    assert "1h" in ran.lines[-1]


def test_a_script_stops_at_the_first_error_with_its_code(people: People) -> None:
    name = a_name()
    people.topics(name)
    lines = f"describe topic:missing-{name}\nset topic:{name} segment.ms=1h\n"

    assert run_program("shell", stdin=lines).status == 1
    assert people.overrides(f"topic:{name}") == {}
    assert run_program("shell", "--keep-going", stdin=f"dance\nserve\n'open\n{lines}").status == 2
    assert people.overrides(f"topic:{name}") == {"segment.ms": "3600000"}


def test_use_selects_another_cluster(people: People) -> None:
    people.add_context("nowhere", bootstrap="127.0.0.1:1")
    ran = run_program(
        "shell", "--keep-going", stdin="use nobody\nuse nowhere\ntopic list\nuse here\ntopic list\nexit\nx\n"
    )
    assert ran.status == 2
    assert "no context 'nobody'" in ran.err
    assert ran.err.count("cannot connect to 127.0.0.1:1") == 1


def test_context_use_changes_the_cluster_and_the_prompt(people: People) -> None:
    people.add_context("nowhere", bootstrap="127.0.0.1:1")

    with Terminal([sys.executable, "-m", "kconf", "shell"]) as terminal:
        terminal.expect("here>")
        terminal.type("context use nowhere\r")
        terminal.expect("nowhere>")
        terminal.type("topic list --timeout 1\r")
        terminal.expect("cannot connect to 127.0.0.1:1")
        terminal.expect("nowhere>")
        terminal.type("context use nobody\r")
        terminal.expect("no context 'nobody'")
        terminal.expect("nowhere>")
        terminal.type("exit\r")
        assert terminal.end() == 0


def test_a_shell_keeps_its_cluster_if_the_current_context_changes_elsewhere(people: People) -> None:
    people.topics(a_name())
    people.add_context("nowhere", bootstrap="127.0.0.1:1")

    with Terminal([sys.executable, "-m", "kconf", "shell"]) as terminal:
        terminal.expect("here>")
        people("context use nowhere")
        terminal.type("topic list\r")
        terminal.expect("PARTITIONS")
        terminal.expect("here>")
        terminal.type("exit\r")
        assert terminal.end() == 0


def test_a_key_is_completed_and_a_pattern_is_confirmed_on_a_terminal(people: People) -> None:
    """Tab completes a key, a pattern needs confirmation, and a mistake does not end the session."""
    prefix = a_name("s")
    people.topics(f"{prefix}.a", f"{prefix}.b")
    with Terminal([sys.executable, "-m", "kconf", "shell"]) as terminal:
        terminal.expect("here>")
        terminal.type("dance\r")
        terminal.expect("unknown command 'dance'")
        terminal.expect("here>")
        terminal.type(f"set topic:{prefix}.* segment.m\t")
        terminal.expect("segment.ms=")
        terminal.type("1h\r")
        terminal.expect("[y/N]")
        terminal.type("y\r")
        terminal.expect("done")
        terminal.expect("here>")
        terminal.type("exit\r")
        assert terminal.end() == 0
    until(lambda: people.overrides(f"topic:{prefix}.b"), {"segment.ms": "3600000"})
