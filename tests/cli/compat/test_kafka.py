"""`kconf kafka`: KIP-21's interface and its shell (cli-spec 13), on a real kconf process."""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import sys
import termios
from collections.abc import Callable
from uuid import uuid4

import pytest

from kconf import NewTopic, SyncAdminClient
from kconf.cli.compat.kip21.command import _EXAMPLES
from kconf.cli.compat.kip21.shell import Ended, Kip21Shell
from kconf.cli.main import main
from kconf.errors import KconfError
from tests.cli.conftest import Ran, run_in_process, run_program
from tests.support.process import KconfProcess

Run = Callable[[str], Ran]


@pytest.fixture
def command(server: KconfProcess) -> Run:
    return lambda line: run_in_process(main, ["kafka", *shlex.split(line), "--broker-list", server.bootstrap])


@pytest.fixture
def topic(admin: SyncAdminClient) -> str:
    name = f"t-{uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
    return name


@pytest.mark.parametrize("kind", ["topic", "topics"])
def test_topic_configs_are_added_deleted_and_described(command: Run, topic: str, kind: str) -> None:
    who = f"--entity-type {kind} --entity-name {topic}"
    added = command(f"--alter-config {who} --added-config segment.ms=7,retention.ms=8")
    both = command(f"--alter-config {who} --added-config flush.ms=9 --deleted-config segment.ms")
    told = command(f"--describe-config {who}")

    assert added.out == f'Updated config for topic: "{topic}".\n'
    assert both.status == 0
    assert told.out == f"Configs for topics:{topic} are flush.ms=9,retention.ms=8\n"


def test_a_client_quota_is_set_described_and_deleted(command: Run) -> None:
    who = f"--entity-type client --entity-name c-{uuid4().hex[:8]}"
    added = command(f"--alter-config {who} --added-config producer_byte_rate=1048576")
    told = command(f"--describe-config {who}")
    command(f"--alter-config {who} --deleted-config producer_byte_rate")

    assert added.out.startswith("Updated config for clientId: ")
    assert told.out.endswith(" are producer_byte_rate=1048576\n")
    assert command(f"--describe-config {who}").out.endswith(" are\n")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("--describe-config --entity-type planet --entity-name x", "InvalidEntity"),
        ("--describe-config --entity-type topic --entity-name nowhere", "InvalidEntity"),
        ("--alter-config --entity-type topic --entity-name nowhere --added-config segment.ms=1", "InvalidEntity"),
        ("--alter-config --entity-type topic --entity-name NAME --added-config no.such.key=1", "InvalidEntityConfig"),
        ("--alter-config --entity-type topic --entity-name NAME --added-config segment.ms=soon", "InvalidEntityConfig"),
        ("--alter-config --entity-type topic --entity-name NAME --deleted-config no.such.key", "InvalidEntityConfig"),
        ("--alter-config --entity-type client --entity-name c --deleted-config no.such.key", "InvalidEntityConfig"),
        (
            "--alter-config --entity-type client --entity-name c --added-config request_percentage=1",
            "InvalidEntityConfig",
        ),
        (
            "--alter-config --entity-type client --entity-name c --added-config producer_byte_rate=x",
            "InvalidEntityConfig",
        ),
        (
            "--alter-config --entity-type topic --entity-name NAME --added-config flush.ms=1 --deleted-config flush.ms",
            "Inv",
        ),
        ("--alter-config --entity-type topic --entity-name NAME", "--alter-config needs"),
    ],
)
def test_errors_have_the_names_of_kip_21(command: Run, topic: str, line: str, error: str) -> None:
    done = command(line.replace("NAME", topic))

    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"kconf: {error}")


def test_every_example_works(server: KconfProcess, admin: SyncAdminClient) -> None:
    admin.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
    found = re.findall(r"^  kconf (.*)$", _EXAMPLES.replace("\\\n", " "), re.MULTILINE)
    for line in found:
        done = run_program(*shlex.split(line.replace("localhost:9092", server.bootstrap)))
        assert (done.status, done.err) == (0, ""), line
    assert len(found) == 4


class TestShell:
    def test_edits_are_staged_and_applied_together(self, admin: SyncAdminClient, topic: str) -> None:
        shell = Kip21Shell(admin)
        shell.do(f"use topic {topic}")
        shell.do("set retention.ms=5,cleanup.policy=[compact,delete]")
        shell.do("unset segment.ms  # a comment")

        assert shell.prompt == f"kafka topic {topic}*> "
        assert shell.do("diff") == [
            "retention.ms: (unset) -> 5",
            "cleanup.policy: (unset) -> compact,delete",
            "segment.ms: (unset) -> (unset)",
        ]
        assert shell.do("show") == ["cleanup.policy=compact,delete", "retention.ms=5"]
        assert Kip21Shell(admin).do(f"describe-config --entity-type topic --entity-name {topic}") == [
            f"Configs for topics:{topic} are"
        ]
        assert shell.do("apply") == [f'Updated config for topic: "{topic}".']
        assert shell.do("show") == ["cleanup.policy=compact,delete", "retention.ms=5"]
        assert len(shell.do("history")) == 1

    def test_undo_reverts_an_edit_or_stages_the_reverse(self, admin: SyncAdminClient, topic: str) -> None:
        shell = Kip21Shell(admin)
        for line in (f"use topic {topic}", "set flush.ms=1", "set flush.ms=2", "undo", "apply", "undo"):
            shell.do(line)

        assert shell.do("diff") == ["flush.ms: 1 -> (unset)"]
        shell.do("apply")
        assert shell.do("show") == []

    def test_changes_stay_staged_if_apply_is_refused(self, admin: SyncAdminClient, topic: str) -> None:
        shell = Kip21Shell(admin)
        shell.do(f"use topic {topic}")
        shell.do("set flush.ms=soon,segment.ms=5")
        with pytest.raises(KconfError, match="InvalidEntityConfig"):
            shell.do("apply")

        assert shell.staged == {"flush.ms": "soon", "segment.ms": "5"}
        with pytest.raises(KconfError, match="staged"):
            shell.do("use client c")

    @pytest.mark.parametrize("line", ["dance", "show", "set a=b", "use topic", "use topic nowhere", "'", "undo"])
    def test_mistakes_do_not_end_the_shell(self, admin: SyncAdminClient, line: str) -> None:
        shell = Kip21Shell(admin)
        with pytest.raises(KconfError):
            shell.do(line)
        assert shell.do("help")
        with pytest.raises(Ended):
            shell.do("exit")

    def test_commands_names_and_keys_are_completed(self, admin: SyncAdminClient, topic: str) -> None:
        shell = Kip21Shell(admin)

        assert list(shell.suggestions("ap")) == ["apply"]
        assert list(shell.suggestions("use t")) == ["topic"]
        assert list(shell.suggestions(f"use topic {topic[:6]}")) == [topic]
        shell.do(f"use topic {topic}")
        assert list(shell.suggestions("set retention.m")) == ["retention.ms="]
        assert list(shell.suggestions("unset retention.m")) == ["retention.ms"]
        assert list(shell.suggestions("unset flush.ms,retention.m")) == ["flush.ms,retention.ms"]
        assert list(shell.suggestions("set flush.ms=3,retention.m")) == ["flush.ms=3,retention.ms="]

    def test_values_are_completed(self, admin: SyncAdminClient, topic: str) -> None:
        """Values of a boolean, of an enum, inside a list, and after other keys; a number has none."""
        shell = Kip21Shell(admin)
        shell.do(f"use topic {topic}")

        def ends(line: str) -> list[str]:
            return [each.removeprefix(line.split()[-1]) for each in shell.suggestions(line)]

        assert ends("set preallocate=") == ["true", "false"]
        assert ends("set flush.ms=3 preallocate=t") == ["rue"]
        assert ends("set flush.ms=3,preallocate=f") == ["alse"]
        assert ends("set compression.type=z") == ["std"]
        assert ends("set cleanup.policy=comp") == ["act"]
        assert ends("set cleanup.policy=[") == ["compact", "delete"]
        assert ends("set cleanup.policy=[compact,") == ["delete"]
        assert ends("set cleanup.policy=[compact,del") == ["ete"]
        assert ends("set cleanup.policy=[compact,delete],message.timestamp.type=C") == ["reateTime"]
        assert ends("set flush.ms=") == []
        assert ends("set no.such.key=") == []

    def test_a_script_stops_at_its_first_error(self, server: KconfProcess, topic: str) -> None:
        script = f"use topic {topic}\nset no.such.key=1\napply\nundo\nset flush.ms=3\napply\nshow\n"
        words = ("kafka", "--shell", "--broker-list", server.bootstrap)
        stopped = run_program(*words, stdin=script)
        went_on = run_program(*words, "--keep-going", stdin=script)

        assert (stopped.status, stopped.out, stopped.err.count("\n")) == (1, "", 1)
        assert went_on.status == 1
        assert went_on.lines == [f'Updated config for topic: "{topic}".', "flush.ms=3"]

    def test_staged_changes_are_not_lost_silently(self, server: KconfProcess, topic: str) -> None:
        done = run_program(
            *("kafka", "--shell", "--broker-list", server.bootstrap), stdin=f"use topic {topic}\nset flush.ms=3\n"
        )

        assert (done.status, done.err) == (1, "discarded staged edits that were not applied\n")

    def test_on_a_terminal_errors_are_printed_and_the_session_continues(self, server: KconfProcess, topic: str) -> None:
        near, far = os.openpty()
        termios.tcsetwinsize(far, (40, 200))
        words = [sys.executable, "-m", "kconf", "kafka", "--shell", "--broker-list", server.bootstrap]
        there = {**os.environ, "TERM": "xterm"}
        process = subprocess.Popen(words, stdin=far, stdout=far, stderr=far, start_new_session=True, env=there)
        os.close(far)
        screen = Screen(near)
        try:
            screen.expect("kafka>")
            screen.type("dance\r")
            screen.expect("unknown command 'dance'")
            screen.type(f"use topic {topic}\r")
            screen.expect(f"{topic}>")
            screen.type("set flush.ms=3\r")
            screen.expect(f"{topic}*>")
            screen.type("apply\r")
            screen.expect("Updated config for topic")
            screen.type("exit\r")
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.wait()
            os.close(near)


class Screen:
    """The contents of a terminal."""

    def __init__(self, file: int) -> None:
        self._file, self._seen = file, ""

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def expect(self, text: str) -> None:
        """Wait for a text after the one that was last waited for."""
        while text not in self._seen:
            ready, _, _ = select.select([self._file], [], [], 20)
            assert ready, self._seen
            shown = os.read(self._file, 65536).decode(errors="replace")
            if "\x1b[6n" in shown:  # prompt_toolkit asks where the cursor is
                self.type("\x1b[1;1R")
            self._seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
        self._seen = self._seen.partition(text)[2]
