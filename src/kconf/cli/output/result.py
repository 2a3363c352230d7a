"""The answer of a command: items, told as a table, as JSON or as CSV, and the exit code.

With JSON there is one object on stdout, whatever happens:
`{"version": 1, "command": …, <facts>, "items": [{…, "error": null, "message": null}], "notes": […], "error": null,
"message": null}`. An item's error is Kafka's name of it; the error at the end is what ruined the whole command.
Exit codes: 0 done; 1 an item failed; 2 asked for wrongly; 3 there are differences; 4 unreachable, or login refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    BrokerNotAvailable,
    ConfigurationError,
    ConnectionFailed,
    KafkaError,
    KconfError,
    RequestTimedOut,
)

if TYPE_CHECKING:
    import argparse

VERSION: Final = 1
DONE, FAILED, WRONG, DIFFERENT, UNREACHABLE = range(5)
INTERRUPTED: Final = 130

Item = dict[str, Any]
"""Fields by name; the last two are `error` and `message`."""


class ResultColumn(NamedTuple):
    """A field of the items that tables and CSV show; `show` makes a table's text of an item."""

    name: str
    title: str = ""
    show: Callable[[Item], str] | None = None

    @property
    def heading(self) -> str:
        return self.title or self.name.upper().replace("_", " ")

    def text(self, item: Item) -> str:
        return self.show(item) if self.show is not None else plain(item.get(self.name))


class Aborted(KconfError):
    """A command that ends here, with what it has to say and this exit code."""

    def __init__(self, message: str, status: int = WRONG) -> None:
        super().__init__(message)
        self.status = status


class CommandResult:
    """What a command has to say. A verb fills it; `tell` prints it and gives the exit code.

    `hidden` columns are in CSV and JSON but not in tables; a `tall` table has a line per column in place of one per
    item. `status` may be raised by a verb (3: differences).
    """

    def __init__(self, command: str, columns: Sequence[ResultColumn] = (), output: str = "table") -> None:
        self.command, self.columns, self.output = command, list(columns), output
        self.hidden: frozenset[str] = frozenset()
        self.tall = False
        self.facts: dict[str, Any] = {}
        self.items: list[Item] = []
        self.notes: list[str] = []
        self.advice: list[str] = []
        self.trouble: KconfError | None = None
        self.status = DONE

    def add(self, failure: ApiError | KafkaError | None = None, /, **fields: Any) -> Item:
        """One more item, done or failed."""
        if isinstance(failure, KafkaError):
            failure = failure.failure()
        item = {**fields, "error": None, "message": None}
        if failure is not None:
            item.update(error=failure.code.name, message=sentence(failure))
        self.items.append(item)
        return item

    @property
    def failed(self) -> list[Item]:
        return [each for each in self.items if each["error"] is not None]

    def exit_code(self) -> int:
        if self.trouble is not None:
            return status_of(self.trouble)
        return FAILED if self.failed else self.status

    def tell(self) -> int:
        if self.output == "json":
            self._tell_json()
        elif self.output == "csv":
            self._tell_csv()
        else:
            self._tell_table()
        if self.output != "json":
            for note in self.notes:
                print(note, file=sys.stderr)
            if self.trouble is not None:
                print(f"kconf: {self.trouble}", file=sys.stderr)
            for each in self.advice:
                print(each, file=sys.stderr)
        return self.exit_code()

    def _tell_json(self) -> None:
        from json import dumps

        trouble = self.trouble
        whole = {
            "version": VERSION,
            "command": self.command,
            **self.facts,
            "items": self.items,
            "notes": [*self.notes, *self.advice],
            "error": None if trouble is None else error_name(trouble),
            "message": None if trouble is None else str(trouble),
        }
        print(dumps(whole, indent=2, ensure_ascii=False))

    def _tell_csv(self) -> None:
        from csv import writer

        names = [*(each.name for each in self.columns), "error", "message"]
        lines = writer(sys.stdout, lineterminator="\n")
        lines.writerow(names)
        lines.writerows([plain(item.get(name)) for name in names] for item in self.items)

    def _tell_table(self) -> None:
        from kconf.cli.output.tables import print_pairs, print_table

        columns = [each for each in self.columns if each.name not in self.hidden]
        good = [each for each in self.items if each["error"] is None]
        if good and columns:
            headings, rows = (
                [each.heading for each in columns],
                [[each.text(item) for each in columns] for item in good],
            )
            (print_pairs if self.tall else print_table)(headings, rows)
        sys.stdout.flush()
        for line in dict.fromkeys(f"{self._subject(item)}: {item['message']}" for item in self.failed):
            print(line, file=sys.stderr)  # once, also where it stands for several keys

    def _subject(self, item: Item) -> str:
        """Whom an item is about; its context is told where there are several."""
        where = () if "context" in self.hidden else ("context",)
        named = [str(item[name]) for name in (*where, "resource") if item.get(name)]
        return ": ".join(named) or next((str(v) for k, v in item.items() if v and k != "context"), self.command)


def plain(value: Any) -> str:
    """A value as a text without units; nothing is an empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def sentence(failure: ApiError) -> str:
    """The server's words in one line, or the error's name."""
    return " ".join((failure.message or "").split()) or failure.code.name.replace("_", " ").capitalize()


def error_name(error: KconfError) -> str:
    """Kafka's name of an error, or one of ours: INVALID_INPUT, NOT_DONE, FAILED."""
    if isinstance(error, KafkaError):
        return error.code.name
    if isinstance(error, Aborted):
        return "NOT_DONE"
    return "INVALID_INPUT" if isinstance(error, ConfigurationError) else "FAILED"


def status_of(error: KconfError) -> int:
    if isinstance(error, Aborted):
        return error.status
    if isinstance(error, ConfigurationError):
        return WRONG
    if isinstance(error, ConnectionFailed | AuthenticationFailed | BrokerNotAvailable | RequestTimedOut):
        return UNREACHABLE
    return FAILED


Verb = Callable[["argparse.Namespace", CommandResult], None]


def command(name: str, verb: Verb) -> Callable[[argparse.Namespace], int]:
    """What a parser runs: the verb fills an answer, and the answer is told, also where the verb raised."""

    def run(options: argparse.Namespace) -> int:
        answer = CommandResult(name, output=options.output)
        try:
            verb(options, answer)
        except KconfError as error:
            answer.trouble = error
        except KeyboardInterrupt:
            answer.trouble = Aborted("interrupted", INTERRUPTED)
        if answer.failed or answer.trouble is not None:
            from kconf.cli.common.hints import advice

            answer.advice = advice(options, answer.failed, answer.trouble)
        return answer.tell()

    return run
