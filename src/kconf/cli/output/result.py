"""The result of a command: items, notes and facts, and the exit code. How it is printed: formats.py.

Exit codes: 0 done; 1 an item failed; 2 usage error, or not confirmed; 3 there are differences; 4 unreachable, or
authentication failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from kconf.cli.output.plain_values import plain
from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    BrokerNotAvailable,
    ConfigurationError,
    ConnectionFailed,
    KafkaError,
    KconfError,
    MismatchedEndpointType,
    RequestTimedOut,
)
from kconf.operations.errors import Aborted, PlanRejected

DONE, FAILED, USAGE, DIFFERENT, UNREACHABLE = range(5)
INTERRUPTED: Final = 130
_UNREACHABLE: Final = (
    ConnectionFailed,
    AuthenticationFailed,
    BrokerNotAvailable,
    MismatchedEndpointType,
    RequestTimedOut,
)

_WHOLE: Final = frozenset({"key", "field", "time", "since", "until", "first", "last"})

Item = dict[str, Any]
"""Fields by name; the last two are `error` and `message`."""


class ResultColumn(NamedTuple):
    """A field of the items in tables and CSV; `show` formats it for a table."""

    name: str
    title: str = ""
    show: Callable[[Item], str] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether its cells are keys or times, which are never wrapped."""
        return self.name in _WHOLE

    @property
    def is_unbroken(self) -> bool:
        """Whether its cells are authors, which move below the row rather than wrap."""
        return self.name == "principal"

    @property
    def heading(self) -> str:
        return self.title or self.name.upper().replace("_", " ")

    def text(self, item: Item) -> str:
        return self.show(item) if self.show is not None else plain(item.get(self.name))


class Interrupted(Aborted):
    """Ctrl-C."""


class CommandResult:
    """What a command returns. The command fills it; `print_result` (formats.py) prints it.

    `hidden` columns are in CSV and JSON but not in tables; a `vertical` table has a line per column instead of one per
    item. With `csv_guard`, no cell of CSV is a formula. Items that are `plain` rows have no `error` and `message`. A
    command may set `status` (3: differences).
    """

    def __init__(self, command: str, columns: Sequence[ResultColumn] = (), output: str = "table") -> None:
        self.command, self.columns, self.output = command, list(columns), output
        self.hidden: frozenset[str] = frozenset()
        self.vertical = False
        self.csv_guard = False
        self.is_plain = False
        self.facts: dict[str, Any] = {}
        self.items: list[Item] = []
        self.notes: list[str] = []
        self.hints: list[str] = []
        self.error: KconfError | None = None
        self.status = DONE

    def add(self, failure: ApiError | KafkaError | None = None, /, **fields: Any) -> Item:
        """Add an item, successful or failed."""
        if isinstance(failure, KafkaError):
            failure = failure.failure()
        item = {**fields, "error": None, "message": None}
        if failure is not None:
            item.update(error=failure.code.name, message=sentence(failure))
        self.items.append(item)
        return item

    @property
    def failed(self) -> list[Item]:
        return [] if self.is_plain else [each for each in self.items if each["error"] is not None]

    @property
    def succeeded(self) -> list[Item]:
        return self.items if self.is_plain else [each for each in self.items if each["error"] is None]

    def exit_code(self) -> int:
        if self.error is not None:
            return status_of(self.error)
        return FAILED if self.failed else self.status


def sentence(failure: ApiError) -> str:
    """The server's message in one line, or the name of the error."""
    return " ".join((failure.message or "").split()) or failure.code.name.replace("_", " ").capitalize()


def status_of(error: KconfError) -> int:
    """The exit code for an error that stopped a command."""
    if isinstance(error, Interrupted):
        return INTERRUPTED
    if isinstance(error, PlanRejected):
        return FAILED
    if isinstance(error, ConfigurationError | Aborted):
        return USAGE
    if isinstance(error, _UNREACHABLE):
        return UNREACHABLE
    return FAILED
