"""The target cluster of a command: the options that every command has.

Order: `-b` or `-C` on the command line, `KCONF_CONTEXT`, the current context, localhost:9092.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from kconf.cli.output.formats import FORMATS
from kconf.client.contexts.context import Context
from kconf.client.contexts.load import load_contexts
from kconf.errors import ConfigurationError, KafkaError
from kconf.operations.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kconf.cli.output.result import CommandResult
    from kconf.client.admin_sync import SyncAdminClient


def add_target(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """The options for the cluster, and for the output format."""
    group = parser.add_argument_group("cluster and output")
    add = group.add_argument
    add_context(group, several=several)
    add(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT",
        action=Once,
        help="any broker of the cluster, instead of a context",
    )
    add("--command-config", metavar="FILE", help="properties file of a Java admin client (TLS, SASL)")
    add("--timeout", metavar="SECONDS", type=_seconds, help="time limit for the command (default: 60)")
    add_output(group)


def add_context(parser: argparse._ActionsContainer, *, several: bool = False) -> None:
    what = "NAME|GLOB" if several else "NAME"
    about = "context to use (default: $KCONF_CONTEXT, or the current context)"
    parser.add_argument("-C", "--context", metavar=what, action=Once, help=about)


class Once(argparse.Action):
    """An option that may be given only once: otherwise the last of two would silently apply."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        if before is not None and before != values:
            several = "; use a glob for several contexts" if self.metavar == "NAME|GLOB" else ""
            parser.error(f"{option_string} was given twice: {before} and {values}{several}")
        setattr(namespace, self.dest, values)


def add_output(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "-o", "--output", choices=tuple(FORMATS), default="table", help="output format (default: table)"
    )
    parser.add_argument(
        "--csv-guard",
        action="store_true",
        help="in CSV, put ' before cells that a spreadsheet would evaluate as formulas",
    )


def targets(options: argparse.Namespace) -> list[Target]:
    """The clusters of the command: one, or all whose contexts a glob matches."""
    contexts = _contexts(options)
    reason = getattr(options, "reason", None)
    return [Target(each, options.command_config, options.timeout, reason) for each in contexts]


def target(options: argparse.Namespace) -> Target:
    """The one cluster of the command."""
    found = targets(options)
    if len(found) > 1:
        raise ConfigurationError(
            f"this command works on one cluster, but {options.context!r} matches {len(found)} contexts; pass one name"
        )
    return found[0]


def on_each(
    clusters: Sequence[Target], result: CommandResult, query: Callable[[Target, SyncAdminClient], None]
) -> None:
    """Query each cluster. If there are several, the failure of one is an item, and the others are queried anyway."""
    from kconf.operations.selection.selectors import NothingMatches

    if len(clusters) == 1:
        result.hidden |= {"context"}
    for each in clusters:
        try:
            with each.open() as admin:
                query(each, admin)
        except KafkaError as error:
            if len(clusters) == 1:
                raise
            fields = {column.name: None for column in result.columns}
            result.add(error, **{**fields, "context": each.name})
        except NothingMatches as error:
            if len(clusters) == 1:
                raise
            result.notes.append(f"{each.name}: {error}")


def _contexts(options: argparse.Namespace) -> list[Context]:
    if options.bootstrap_server is not None:
        if options.context is not None:
            raise ConfigurationError("-b and -C are mutually exclusive")
        return [Context(bootstrap=options.bootstrap_server)]
    named = options.context if options.context is not None else os.environ.get("KCONF_CONTEXT")
    contexts = load_contexts()
    if named:
        return contexts.matching(named)
    return [contexts.chosen()]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
