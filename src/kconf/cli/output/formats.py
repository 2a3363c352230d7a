"""The output formats of every command: table, JSON and CSV. `-o, --output` chooses one of `FORMATS`.

With JSON there is always one object on stdout: `{"version": 1, "command": …, <facts>, "items": [{…, "error":
null, "message": null}], "notes": […], "error": null, "message": null}`. An item's `error` is Kafka's error name; the
last `error` is what stopped the whole command. Commands that do not end, such as `watch`, use `ItemStream`: it prints
one line per item, or with JSON one object per line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.output.plain_values import guarded_cell, plain
from kconf.errors import ConfigurationError, KafkaError, KconfError
from kconf.operations.errors import Aborted

if TYPE_CHECKING:
    from kconf.cli.output.result import CommandResult, Item, ResultColumn

JSON_VERSION: Final = 1


def print_result(result: CommandResult) -> int:
    """Print items to stdout, and notes, errors and hints to stderr; JSON has all of them on stdout.

    Returns the exit code.
    """
    FORMATS[result.output](result)
    sys.stdout.flush()
    if result.output != "json":
        _print_messages(result)
    return result.exit_code()


def _print_messages(result: CommandResult) -> None:
    for note in result.notes:
        print(note, file=sys.stderr)
    if result.error is not None:
        print(f"kconf: {result.error}", file=sys.stderr)
    for each in result.hints:
        print(each, file=sys.stderr)


def print_json(result: CommandResult) -> None:
    from json import dumps

    error = result.error
    document = {
        "version": JSON_VERSION,
        "command": result.command,
        **result.facts,
        "items": result.items,
        "notes": [*result.notes, *result.hints],
        "error": None if error is None else error_name(error),
        "message": None if error is None else str(error),
    }
    print(dumps(document, indent=2, ensure_ascii=False))


def print_csv(result: CommandResult) -> None:
    from csv import writer

    rows = writer(sys.stdout, lineterminator="\n")
    cell = guarded_cell if result.csv_guard else plain
    if result.is_plain:
        rows.writerow(each.name for each in result.columns)
        rows.writerows([cell(each.text(item)) for each in result.columns] for item in result.items)
        return
    names = [*(each.name for each in result.columns), "error", "message"]
    rows.writerow(names)
    rows.writerows([cell(item.get(name)) for name in names] for item in result.items)


def print_table(result: CommandResult) -> None:
    from kconf.cli.output import tables

    columns = [each for each in result.columns if each.name not in result.hidden]
    succeeded = result.succeeded
    if succeeded and columns:
        headings = [each.heading for each in columns]
        rows = [[each.text(item) for each in columns] for item in succeeded]
        whole = [number for number, each in enumerate(columns) if each.is_whole]
        unbroken = [number for number, each in enumerate(columns) if each.is_unbroken]
        if result.vertical:
            tables.print_pairs(headings, rows, whole)
        else:
            tables.print_table(headings, rows, whole, unbroken)
    sys.stdout.flush()
    for line in dict.fromkeys(f"{_subject(result, item)}: {item['message']}" for item in result.failed):
        print(line, file=sys.stderr)  # once, also if it applies to several keys


FORMATS: Final[dict[str, Callable[[CommandResult], None]]] = {
    "table": print_table,
    "json": print_json,
    "csv": print_csv,
}


class ItemStream:
    """Prints items one by one, as soon as they are known."""

    def __init__(self, command: str, columns: Sequence[ResultColumn], output: str, *, csv_guard: bool = False) -> None:
        self._command, self._columns, self._output = command, columns, output
        self._cell = guarded_cell if csv_guard else plain
        self._count = 0

    def print(self, fields: dict[str, Any]) -> None:
        item: Item = {**fields, "error": None, "message": None}
        if self._output == "json":
            from json import dumps

            print(dumps({"version": JSON_VERSION, "command": self._command, **item}, ensure_ascii=False), flush=True)
        elif self._output == "csv":
            self._print_csv(item)
        else:
            from kconf.util.visible_text import visible

            print("  ".join(visible(each.text(item)) for each in self._columns if each.text(item)), flush=True)
        self._count += 1

    def _print_csv(self, item: Item) -> None:
        from csv import writer

        rows = writer(sys.stdout, lineterminator="\n")
        if not self._count:
            rows.writerow(each.name for each in self._columns)
        rows.writerow(self._cell(item.get(each.name)) for each in self._columns)
        sys.stdout.flush()


def error_name(error: KconfError) -> str:
    """Kafka's name of an error, or one of kconf's: INVALID_INPUT, NOT_DONE, FAILED."""
    if isinstance(error, KafkaError):
        return error.code.name
    if isinstance(error, Aborted):
        return "NOT_DONE"
    return "INVALID_INPUT" if isinstance(error, ConfigurationError) else "FAILED"


def _subject(result: CommandResult, item: Item) -> str:
    """The resource and key of an item, with its context if there are several."""
    where = () if "context" in result.hidden else ("context",)
    named = [str(item[name]) for name in (*where, "resource") if item.get(name)]
    return ": ".join(named) or next((str(v) for k, v in item.items() if v and k != "context"), result.command)
