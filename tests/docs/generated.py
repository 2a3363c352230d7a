"""Generates reference pages from the code: `python -m tests.docs` writes them, tests/docs/test_generated.py compares.

docs/reference/keys.md   all configs, from the tables in configdef/
docs/reference/cli.md    every command, from its parser
docs/reference/tables.md the lake's tables, from lake/schemas.py
docs/reference/server-settings.md settings of kconf serve besides Kafka's, from configdef/server_settings.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from kconf.configdef.catalog import kafka_43
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.quota import IP_QUOTA, USER_QUOTA

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
MADE = "<!-- Generated from the code by `python -m tests.docs`; do not edit. -->\n\n"


def keys_page() -> str:
    catalog = kafka_43()
    tables: Mapping[str, tuple[str, ConfigDef]] = {
        "Topics": (
            "`topic:NAME`. Without an override, the value comes from the broker keys named in the last column.",
            catalog.topic,
        ),
        "Brokers": (
            "`broker:ID`, or `broker:default` for the cluster-wide default. Set *read-only* keys in server.properties.",
            catalog.broker,
        ),
        "Groups": (
            "`group:NAME`. Without an override, the value comes from the broker keys named in the last column.",
            catalog.group,
        ),
        "Client metrics": ("`client-metrics:NAME`", catalog.client_metrics),
        "Quotas of users and client IDs": ("By `--user`, `--client-id`, or both.", USER_QUOTA),
        "Quotas of IP addresses": ("By `--ip`.", IP_QUOTA),
    }
    count = sum(len(keys) for _, keys in tables.values())
    parts = [f"# Keys\n\n{MADE}All {count} configs of Kafka 4.3. `kconf explain KEY` prints the same.\n"]
    for title, (about, keys) in tables.items():
        parts.append(f"\n## {title}\n\n{about}\n\n")
        parts.append("| key | type | default | valid values | changed | description |\n|---|---|---|---|---|---|\n")
        parts += [_row(key) for _, key in sorted(keys.items())]
    return "".join(parts)


def _row(key: ConfigKey) -> str:
    default = "" if key.default is None else f"`{_cell(key.default)}`" if key.default else '`""`'
    below = ", ".join(f"`{each.name}`" + (f" × {each.factor}" if each.factor != 1 else "") for each in key.fallbacks)
    about = _cell(key.about) + (f" From {below}." if below and key.mode is None else "")
    words = [key.type.name.lower(), *(["sensitive"] if key.sensitive else []), *(["internal"] if key.internal else [])]
    check = _cell(str(key.validator)) if key.validator else ""
    return f"| `{key.name}` | {', '.join(words)} | {default} | {check} | {key.mode or ''} | {about} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def cli_page() -> str:
    from kconf.cli.common.help import ends_of
    from kconf.cli.main import parser

    top, *commands = _commands(parser())
    parts = [f"# The command line\n\n{MADE}`kconf COMMAND --help` prints the same.\n", *_overview(top)]
    for command in commands:
        parts.append(f"\n## {command.prog}\n\n{_text(command.description)}\n")
        rows = [row for action in command._actions for row in _action_rows(action)]
        parts += [f"\n| {_heading(command)} | description |\n|---|---|\n", *rows] if rows else []
        if command.epilog:
            parts.append(f"\n```text\n{command.epilog.strip()}\n```\n")
        parts.append("\n" + "  \n".join(ends_of(command)) + "\n")
    return "".join(parts)


def _heading(command: argparse.ArgumentParser) -> str:
    """What the table of a command lists."""
    has_subcommands = any(isinstance(each, argparse._SubParsersAction) for each in command._actions)
    return "subcommand" if has_subcommands else "argument"


def _overview(top: argparse.ArgumentParser) -> Iterator[str]:
    """All commands by purpose, as in `kconf --help`."""
    from kconf.cli.main import GROUPS, KAFKA_TOOLS, OTHERS

    found = next(each for each in top._actions if isinstance(each, argparse._SubParsersAction))
    about = {each.dest: each.help or "" for each in found._choices_actions}
    for title, group in GROUPS.items():
        yield f"\n**{title[0].upper()}{title[1:]}**\n\n| command | |\n|---|---|\n"
        for name in group:
            yield f"| [`kconf {name}`](#kconf-{name}) | {_cell(about[name])} |\n"
        if title == OTHERS:
            for name in KAFKA_TOOLS:
                yield f"| [`{name}`](../how-to/{name}.md) | {_cell(about[name])} |\n"


def _action_rows(action: argparse.Action) -> Iterator[str]:
    if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
        return
    if isinstance(action, argparse._SubParsersAction):
        for each in action._choices_actions:
            yield f"| `{each.dest}` | {_cell(each.help or '')} |\n"
        return
    metavar = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    if action.choices:
        metavar = f"{{{','.join(map(str, action.choices))}}}"
    elif isinstance(metavar, tuple):
        metavar = " ".join(metavar)
    value = f" {metavar}" if action.nargs != 0 and action.option_strings else ""
    named = ", ".join(action.option_strings) or metavar
    shown = (action.help or "") % {**vars(action), "prog": "kconf"} if action.help else ""
    yield f"| {_code(named + value)} | {_cell(shown)} |\n"


def _code(text: str) -> str:
    """Code in a table cell: a `|` would end the cell, and an escaped one would show its backslash."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _text(text: str | None) -> str:
    return (text or "").strip()


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            seen = set[int]()
            for each in action.choices.values():
                if id(each) not in seen and each.add_help:
                    seen.add(id(each))
                    yield from _commands(each)


def tables_page() -> str:
    from kconf.lake.relations import JOINS, KEYS
    from kconf.lake.schemas import TABLES

    about = """\
Delta Lake tables under the URI of the lake, for any Delta reader. `bronze` is the input as read, `silver` the history,
`gold` the tables derived from them. [`kconf pipeline`](../how-to/pipeline.md) maintains them,
[`kconf lake`](../how-to/ask-the-lake.md) queries them, with [SQL](../how-to/ask-the-lake.md#sql) too. Times are UTC.

The key of a table is the set of columns that identifies a row; null counts as a value. `exists` and `user` are reserved
words in SQL: write `"exists"`, in Spark SQL with backquotes instead.

"""
    parts = [f"# Tables of the lake\n\n{MADE}{about}| table | a row is | key |\n|---|---|---|\n"]
    for table in TABLES.values():
        link = f"[{table.path}](#{table.path.replace('/', '')})"
        parts.append(f"| {link} | {_cell(table.about.partition('. ')[0].rstrip('.'))} | {_names(KEYS[table.name])} |\n")
    for table in TABLES.values():
        parted = f" Partitioned by `{'`, `'.join(table.partitioned_by)}`." if table.partitioned_by else ""
        parts.append(f"\n## {table.path}\n\n{table.about}{parted}\n\n- Key: {_names(KEYS[table.name])}\n")
        for join in JOINS[table.name]:
            meaning = f" ({join.about})" if join.about else ""
            target = f"[{join.table.path}](#{join.table.path.replace('/', '')})"
            parts.append(f"- Joins {target} by {_names(join.columns.split(', '))}{meaning}\n")
        parts.append("\n| column | type | description |\n|---|---|---|\n")
        parts += [f"| `{name}` | {_cell(kind)} | {_cell(about)} |\n" for name, kind, about in table.columns]
    return "".join(parts)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def settings_page() -> str:
    from kconf.configdef.server_settings import SERVER_SETTINGS

    about = """\
Settings of `kconf serve` besides [Kafka broker keys](keys.md), set in the file of `--config`, with `--override`, or
with the option shown. The server does not start with an invalid value. `kconf explain --server` prints the same.
"""
    parts = [f"# Settings of the server\n\n{MADE}{about}\n"]
    parts.append("| setting | type | default | valid values | set by | description |\n|---|---|---|---|---|---|\n")
    for setting in SERVER_SETTINGS.values():
        key = setting.key
        default = f"`{_cell(key.default)}`" if key.default else ""
        check = _cell(str(key.validator)) if key.validator else ""
        parts.append(
            f"| `{key.name}` | {key.type.name.lower()} | {default} | {check} | {setting.set_by} | {key.about} |\n"
        )
    return "".join(parts)


PAGES: Mapping[str, Callable[[], str]] = {
    "keys.md": keys_page,
    "cli.md": cli_page,
    "tables.md": tables_page,
    "server-settings.md": settings_page,
}


def main() -> None:
    for name, made in PAGES.items():
        (REFERENCE / name).write_text(made(), "utf-8")
