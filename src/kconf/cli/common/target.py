"""Which cluster is meant, and how to reach it: the options that every command has.

Order: `-b` or `-C` on the command line, `KCONF_CONTEXT`, the current context, localhost:9092. Nothing is dialled and no
secret is looked up before `open`.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, NamedTuple

from kconf.client.contexts.context import Context
from kconf.client.contexts.load import load_contexts
from kconf.errors import ConfigurationError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kconf.cli.output.result import CommandResult
    from kconf.client.admin import AdminClient
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.client.journal.files import ClientJournal

OUTPUTS = ("table", "json", "csv")


class Target(NamedTuple):
    """A cluster that a command is about. `name` is its context's, or its address."""

    context: Context
    command_config: str | None = None
    timeout: float | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        return self.context.name or self.context.bootstrap

    def open(self) -> SyncAdminClient:
        """A client; use it in a `with` block."""
        from kconf.client.admin_sync import SyncAdminClient

        return SyncAdminClient.from_properties(*self._client(), journal=self._journal())

    def open_async(self) -> AdminClient:
        """A client for an event loop; use it in an `async with` block."""
        from kconf.client.admin import AdminClient

        return AdminClient.from_properties(*self._client())

    def _client(self) -> tuple[dict[str, str], str]:
        """The properties of a client, and whom it asks first."""
        from kconf.client.contexts.config_providers import bootstrap, client_properties

        properties = client_properties(self.context)
        if self.command_config is not None:
            from kconf.client.properties import read_file

            properties.update(read_file(self.command_config))
        if self.timeout is not None:
            properties["default.api.timeout.ms"] = str(max(1, int(self.timeout * 1000)))
        return properties, bootstrap(self.context)

    def _journal(self) -> ClientJournal | None:
        """Where changes are recorded, for clusters that keep no record themselves."""
        directory = self.context.journal
        if directory is None:
            return None
        if "://" in directory:
            raise ConfigurationError(f"the journal of {self.name} must be a directory, and not {directory}")
        from kconf.client.journal.files import ClientJournal

        return ClientJournal(directory, reason=self.reason)

    def check_writable(self) -> None:
        """Raise before anything is dialled, where the context is for reading only."""
        if self.context.read_only:
            raise ConfigurationError(f"the context {self.context.name!r} is read-only; nothing was sent")


def add_target(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """The options that say which cluster, and how the answer is told."""
    group = parser.add_argument_group("cluster and output")
    add = group.add_argument
    what = "NAME|GLOB" if several else "NAME"
    add("-C", "--context", metavar=what, help="a context; without it $KCONF_CONTEXT or the current one")
    add("-b", "--bootstrap-server", metavar="HOST:PORT", help="any broker of the cluster, in place of a context")
    add("--command-config", metavar="FILE", help="Java properties of an admin client: TLS, SASL")
    add("--timeout", metavar="SECONDS", type=_seconds, help="how long to try (default: 60)")
    add_output(group)


def add_output(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "-o", "--output", choices=OUTPUTS, default="table", help="how the answer is told (default: table)"
    )


def targets(options: argparse.Namespace) -> list[Target]:
    """The clusters that are meant: one, or for a glob all that it matches."""
    chosen = _contexts(options)
    reason = getattr(options, "reason", None)
    return [Target(each, options.command_config, options.timeout, reason) for each in chosen]


def target(options: argparse.Namespace) -> Target:
    """The one cluster that is meant."""
    found = targets(options)
    if len(found) > 1:
        raise ConfigurationError(f"this command is for one cluster, and {options.context!r} means {len(found)}")
    return found[0]


def on_each(chosen: Sequence[Target], answer: CommandResult, look: Callable[[Target, SyncAdminClient], None]) -> None:
    """Look at each cluster. Of several, one that cannot be asked is an item, and the others are told all the same."""
    from kconf.operations.selectors import NothingMatches

    if len(chosen) == 1:
        answer.hidden |= {"context"}
    for each in chosen:
        try:
            with each.open() as admin:
                look(each, admin)
        except KafkaError as error:
            if len(chosen) == 1:
                raise
            fields = {column.name: None for column in answer.columns}
            answer.add(error, **{**fields, "context": each.name})
        except NothingMatches as error:
            if len(chosen) == 1:
                raise
            answer.notes.append(f"{each.name}: {error}")


def _contexts(options: argparse.Namespace) -> list[Context]:
    if options.bootstrap_server is not None:
        if options.context is not None:
            raise ConfigurationError("-b and -C both name a cluster; give one of them")
        return [Context(bootstrap=options.bootstrap_server)]
    named = options.context if options.context is not None else os.environ.get("KCONF_CONTEXT")
    contexts = load_contexts()
    if named:
        return contexts.matching(named)
    return [contexts.named(contexts.current) if contexts.current else Context()]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds
