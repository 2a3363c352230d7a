"""The shell of `kconf kafka`: choose an entity, stage edits, review the difference, apply it.

`Shell.do(line)` returns the lines to print and needs no terminal. `converse` feeds it from a terminal (with
prompt_toolkit, if installed, for completion and history) or from a script.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

from kconf.cli.compat.kip21 import entities as kip21
from kconf.cli.compat.kip21.single_command import add_options, run_once
from kconf.cli.terminal.line_reader import read_lines
from kconf.errors import ConfigurationError, KconfError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

HELP = """\
use topic|client NAME     choose an entity
show                      show its configs, including staged edits
set K=V[,K=V]             stage values; put a value with commas in brackets
unset K[,K]               stage deletions
diff                      show staged edits, old -> new
undo                      undo the last staged edit; if none is staged, stage the reverse of the last apply
apply                     send the staged edits, all or none
history                   show what was applied in this session
alter-config OPTION...    like kconf kafka --alter-config, without --broker-list
describe-config OPTION... like kconf kafka --describe-config
help, exit"""

Staged = dict[str, str | None]
"""New values by key; None deletes."""


class Ended(Exception):
    """The session is over."""


class _ShellParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(message)


class Kip21Shell:
    def __init__(self, admin: SyncAdminClient) -> None:
        self.admin = admin
        self.entity: kip21.Entity | None = None
        self._stages: list[Staged] = [{}]
        self._applied: list[tuple[kip21.Entity, Staged, Staged]] = []

    @property
    def staged(self) -> Staged:
        return self._stages[-1]

    @property
    def prompt(self) -> str:
        if self.entity is None:
            return "kafka> "
        return f"kafka {self.entity.kind} {self.entity.name}{'*' if self.staged else ''}> "

    def do(self, line: str) -> list[str]:
        """Run one line; returns the lines of its output. Raises `KconfError`, or `Ended`."""
        arguments = self._split(line)
        if not arguments:
            return []
        command, *rest = arguments
        method: Callable[[list[str]], list[str]] | None = self.commands().get(command.removeprefix("--"))
        if method is None:
            raise ConfigurationError(f"unknown command {command!r}; see `help`")
        return method(rest)

    def commands(self) -> dict[str, Callable[[list[str]], list[str]]]:
        return {
            "use": self._use,
            "show": self._show,
            "set": self._set,
            "unset": self._unset,
            "diff": self._diff,
            "undo": self._undo,
            "apply": self._apply,
            "history": self._history,
            "alter-config": lambda arguments: self._once(arguments, alter=True),
            "describe-config": lambda arguments: self._once(arguments, alter=False),
            "help": lambda _: HELP.splitlines(),
            "exit": self._exit,
            "quit": self._exit,
        }

    def _split(self, line: str) -> list[str]:
        try:
            return shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigurationError(f"cannot parse the line: {error}") from None

    def _here(self) -> kip21.Entity:
        if self.entity is None:
            raise ConfigurationError("choose an entity first, for example: use topic NAME")
        return self.entity

    def _use(self, arguments: list[str]) -> list[str]:
        if len(arguments) != 2:
            raise ConfigurationError("usage: use topic NAME, or use client NAME")
        if self.staged:
            raise ConfigurationError("there are staged edits: apply or undo them first")
        entity = kip21.Entity.of(*arguments)
        kip21.describe(self.admin, entity)
        self.entity, self._stages = entity, [{}]
        return []

    def _show(self, _: list[str]) -> list[str]:
        found: Staged = {**kip21.describe(self.admin, self._here()), **self.staged}
        return [f"{key}={value}" for key, value in sorted(found.items()) if value is not None]

    def _set(self, arguments: list[str]) -> list[str]:
        from kconf.cli.compat.kafka_configs.grammar import parse_pairs

        self._here()
        if not arguments:
            raise ConfigurationError("usage: set K=V[,K=V]")
        self._stages.append({**self.staged, **parse_pairs(" ".join(arguments))})
        return []

    def _unset(self, arguments: list[str]) -> list[str]:
        self._here()
        keys = [key for argument in arguments for key in argument.split(",") if key]
        if not keys:
            raise ConfigurationError("usage: unset K[,K]")
        self._stages.append({**self.staged, **dict.fromkeys(keys)})
        return []

    def _diff(self, _: list[str]) -> list[str]:
        now = kip21.describe(self.admin, self._here())
        return [
            f"{key}: {now.get(key, '(unset)')} -> {'(unset)' if value is None else value}"
            for key, value in self.staged.items()
        ]

    def _undo(self, _: list[str]) -> list[str]:
        if len(self._stages) > 1:
            self._stages.pop()
            return []
        if not self._applied:
            raise ConfigurationError("nothing to undo")
        entity, _new, old = self._applied[-1]
        self.entity, self._stages = entity, [{}, dict(old)]
        return ["staged the reverse of the last apply; apply it or undo it"]

    def _apply(self, _: list[str]) -> list[str]:
        entity = self._here()
        if not self.staged:
            raise ConfigurationError("no staged edits")
        now = kip21.describe(self.admin, entity)
        added = {key: value for key, value in self.staged.items() if value is not None}
        kip21.alter(self.admin, entity, added, [key for key, value in self.staged.items() if value is None])
        self._applied.append((entity, dict(self.staged), {key: now.get(key) for key in self.staged}))
        self._stages = [{}]
        return [entity.updated]

    def _history(self, _: list[str]) -> list[str]:
        return [
            f"{number} {entity}: "
            + ", ".join(f"{key}={'(unset)' if value is None else value}" for key, value in new.items())
            for number, (entity, new, _old) in enumerate(self._applied, 1)
        ]

    def _once(self, arguments: list[str], *, alter: bool) -> list[str]:
        parser = _ShellParser(add_help=False, allow_abbrev=False)
        add_options(parser)
        return run_once(self.admin, parser.parse_args(arguments), alter=alter)

    def _exit(self, _: list[str]) -> list[str]:
        raise Ended

    def suggestions(self, line: str) -> Iterator[str]:
        """Completions of the last argument of a line."""
        arguments = line.split(" ")
        if len(arguments) == 1:
            yield from (each for each in self.commands() if each.startswith(arguments[0]))
            return
        last = arguments[-1]
        yield from (each for each in self._candidates(arguments) if each.startswith(last))

    def _candidates(self, arguments: list[str]) -> Iterable[str]:
        if arguments[0] == "use":
            return ("topic", "client") if len(arguments) == 2 else sorted(self.admin.list_topics())
        if arguments[0] not in ("set", "unset") or self.entity is None:
            return ()
        if arguments[0] == "unset":
            first, comma, _ = arguments[-1].rpartition(",")
            return [f"{first}{comma}{key}" for key in self._keys()]
        before, key = _begun(arguments[-1])
        if key is None:
            return [f"{before}{each}=" for each in self._keys()]
        return [f"{before}{each}" for each in _choices(key, before)]

    def _keys(self) -> Iterable[str]:
        entity = self._here()
        if entity.kind == "client":
            return kip21.CLIENT_KEYS
        return [each.name for each in self.admin.describe_configs([entity.resource])[entity.resource].entries]


def _begun(argument: str) -> tuple[str, str | None]:
    """The complete part of `k=v,k=[v,v`, and the key whose value is incomplete; None: a key is incomplete."""
    head, equals, value = argument.rpartition("=")
    if not equals:
        first, comma, _ = argument.rpartition(",")
        return first + comma, None
    if value.startswith("[") and not value.endswith("]"):
        listed, comma, _ = value.rpartition(",")
        return f"{head}={listed}{comma}" if comma else f"{head}=[", head.rpartition(",")[2]
    first, comma, _ = value.rpartition(",")
    return (f"{head}={first},", None) if comma else (f"{head}=", head.rpartition(",")[2])


def _choices(name: str, before: str) -> Iterable[str]:
    """All values of a key, if the catalog has a short list; inside brackets only those not yet entered."""
    from kconf.configdef.topic import TOPIC
    from kconf.model.entry import ValueType

    key = TOPIC.get(name)
    if key is None:
        return ()
    if key.type is ValueType.BOOLEAN:
        return ("true", "false")
    choices = key.validator.choices if key.validator is not None else ()
    there = before.rpartition("=[")[2].split(",")
    return [each for each in choices if each not in there]


def converse(admin: SyncAdminClient, *, keep_going: bool) -> int:
    """Run lines until the end of the input. Errors end the session of a script, but not an interactive one."""
    shell = Kip21Shell(admin)
    person = sys.stdin.isatty()
    status = 0
    for line in read_lines(shell) if person else sys.stdin:
        try:
            for output in shell.do(line):
                print(output)
        except Ended:
            break
        except KconfError as error:
            print(error, file=sys.stderr)
            status = 0 if person else 1
            if not person and not keep_going:
                return status
    if shell.staged:
        print("discarded staged edits that were not applied", file=sys.stderr)
        status = status if person else 1
    return status
