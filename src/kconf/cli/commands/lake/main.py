"""`kconf lake` and its words: how they are asked for. `looking` has what they do."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import Command, command
from kconf.cli.common.target import add_context, add_output
from kconf.cli.output.result import CommandResult
from kconf.cli.output.timestamps import TIME_HELP

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES: Final = """\
examples:
  kconf lake history topic:orders --lake lake
  kconf lake history topic:orders --key retention.ms --between '7d ago' now
  kconf lake as-of 2026-11-01T12:00 'topic:orders.*'
  kconf lake blame topic:orders
  kconf lake diff '1d ago' now --output json
  kconf lake drift                                    exit code 3: there is some
  kconf lake violations --owner search                exit code 3: a rule is broken
  kconf lake integrity                                exit code 3: there are gaps, or changes that nobody recorded
  kconf lake compare CLUSTER OTHER --ignore 'advertised.*'
  kconf lake what-if --set broker:default log.retention.ms=1d
  kconf lake backtest --policy new.yaml               exit code 3: a rule was broken
  kconf lake backtest --policy new.yaml --between '30d ago' now --list --output csv
  kconf lake report report.html

The lake is what `kconf pipeline run --lake` was given: --lake, or `lake` of the context. Only `backtest` starts Spark.
"""
WORDS: Final = {
    "history": "every value that something had: from when, until when, by whom and why",
    "as-of": "what was set at a time, and who had set it",
    "blame": "what is set now, and who set it",
    "diff": "what is set otherwise at two times",
    "drift": "where clusters differ from what is declared, with the change that made it so",
    "violations": "what breaks the rules that the last run was given, since when and by whom",
    "integrity": "what does not add up: gaps in what was read, and changes that nobody recorded",
    "compare": "what is set otherwise in two clusters",
    "what-if": "whom another cluster default would concern",
    "backtest": "what rules would have refused, and who broke them for how long, in all of the past",
    "report": "one page with plots: changes, by whom, drift, findings",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "lake",
        help="ask the pipeline's tables: history, drift, report, …",
        description="Ask the tables that `kconf pipeline run` keeps.",
        epilog=EXAMPLES,
    )
    words = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = {name: _word(words, name) for name in WORDS}
    made["as-of"].add_argument("time", metavar="TIME", help=TIME_HELP)
    for each in ("before", "after"):
        made["diff"].add_argument(each, metavar="TIME", help=f"now, or {TIME_HELP}")
    for each in ("one", "other"):
        made["compare"].add_argument(each, metavar="CLUSTER", help="a cluster's id or how it begins, or a context")
    for name in ("history", "as-of", "blame", "diff", "compare", "drift", "violations", "integrity"):
        _add_about(made[name], name)
    made["history"].add_argument(
        "--between", nargs=2, metavar="TIME", help="only what held at some time between these two"
    )
    _add_violations(made["violations"])
    made["compare"].add_argument(
        "--ignore", metavar="GLOB", action="append", default=[], help="leave out such keys; may be repeated"
    )
    made["what-if"].add_argument(
        "--set",
        nargs=2,
        metavar=("broker:default", "KEY=VALUE"),
        action="append",
        required=True,
        dest="wishes",
        help="the value to try; may be repeated",
    )
    made["what-if"].add_argument("--list", action="store_true", help="name every topic that would be concerned")
    _add_backtest(made["backtest"])
    made["report"].add_argument("file", metavar="FILE", help="where the page goes; - for stdout")
    made["report"].add_argument("--days", metavar="N", type=int, default=30, help="how far back (default: %(default)s)")
    for name, word in made.items():
        _add_lake(word, one=name != "compare")


def _word(words: argparse._SubParsersAction[argparse.ArgumentParser], name: str) -> argparse.ArgumentParser:
    about = WORDS[name]
    word = words.add_parser(name, help=about, description=f"Tell {about}.")
    module = name if name in ("report", "backtest", "violations", "integrity") else "queries"
    word.set_defaults(run=command(f"lake {name}", _later(module, name.replace("-", "_"))))
    return word


def _later(module: str, name: str) -> Command:
    """What does the work is imported when it is asked for."""

    def verb(options: argparse.Namespace, answer: CommandResult) -> None:
        found: Callable[[argparse.Namespace, CommandResult], None] = getattr(
            import_module(f"kconf.cli.commands.lake.{module}"), name
        )
        found(options, answer)

    return verb


def _add_violations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", metavar="ID", help="this rule only")
    parser.add_argument("--owner", metavar="NAME", help="only topics of this owner")
    parser.add_argument("--all", action="store_true", help="what broke a rule once, too")
    parser.add_argument("--between", nargs=2, metavar="TIME", help="what broke a rule at some time between these two")


def _add_backtest(parser: argparse.ArgumentParser) -> None:
    from pathlib import Path

    from kconf.cli.common.spark_session import add_session

    parser.add_argument("--policy", metavar="FILE", type=Path, required=True, help="the rules, as for policy.file")
    parser.add_argument("--between", nargs=2, metavar="TIME", help="only what was so at some time between these two")
    parser.add_argument("--list", action="store_true", help="tell each finding, not only how many a rule has")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=100, help="how many --list tells (default: %(default)s)"
    )
    add_session(parser)


def _add_about(parser: argparse.ArgumentParser, name: str) -> None:
    from kconf.cli.common.options.quota_entity import add_quota_entity

    parser.add_argument(
        "resources", metavar="RESOURCE", nargs="*", help="topic:NAME, topic:GLOB, broker:default, …; without one: all"
    )
    parser.add_argument("--key", metavar="KEY", help="this key only")
    if name not in ("drift", "violations", "integrity"):
        add_quota_entity(parser)


def _add_lake(parser: argparse.ArgumentParser, *, one: bool) -> None:
    group = parser.add_argument_group("lake and output")
    group.add_argument("--lake", metavar="URI", help="where the tables are; without it that of the context")
    add_context(group)
    if one:
        group.add_argument(
            "--cluster", metavar="ID", action="append", default=[], help="only this cluster: its id or how it begins"
        )
    add_output(group)
