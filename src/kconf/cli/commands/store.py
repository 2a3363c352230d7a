"""`kconf store`: copy a cluster's whole state to another store, check one for damage, remove configs offline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from kconf.cli.common.command import command
from kconf.cli.common.target import add_output
from kconf.cli.output.result import FAILED, CommandResult, ResultColumn
from kconf.cli.output.safe_text import write_controls
from kconf.configdef.server_settings import SERVER_SETTINGS
from kconf.errors import ConfigurationError

_EXAMPLES = """\
examples:
  kconf store copy sqlite:///kconf.db zookeeper://zk1:2181,zk2:2181,zk3:2181/kconf
  kconf store copy zookeeper://zk1:2181/kafka sqlite:////var/lib/kconf/kconf.db --config server.properties

Copies topics with IDs, configs (including encrypted values; --config names the file with password.encoder.secret),
quotas, credentials and ACLs. The journal is not copied: the new store starts a journal of its own, with a new epoch
and the whole state as its first changes. Stop the servers that use FROM before the copy, and start them with TO after
it: later changes in FROM are not copied.
"""

_VERIFY_EXAMPLES = """\
examples:
  kconf store verify
  kconf store verify sqlite:////var/lib/kconf/kconf.db -o json

Reads every page and every record. The exit code is 1 if anything is damaged. `state` is the current configuration;
`journal` is the log of changes. A server also checks its store at startup: the state and the newest 100,000 revisions.
"""
_STATE_DAMAGED = "The store is damaged: restore a backup."
_STATE_WHOLE = (
    "The store is damaged, but its state is intact: restore a backup, or copy the state to a new store with `kconf "
    "store copy`, which starts a new journal."
)
_UNSET_EXAMPLES = """\
examples:
  kconf store unset broker:1 listener.name.ssl.ssl.keystore.location
  kconf store unset brokers max.connections.per.ip.overrides --store sqlite:////var/lib/kconf/kconf.db

Use this if a server does not start, or accepts no logins, because of a dynamic config. `kconf serve --recover` starts
it without dynamic broker configs and lists them. No server may have the store open, except with ZooKeeper, where
running servers apply the change. The change is recorded in the journal.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "store",
        help="copy or verify a store; remove configs offline",
        description="Copy or verify a store, or remove configs while no server runs.",
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    copy = verbs.add_parser(
        "copy",
        help="copy all state into an empty store",
        description="Copy all state into an empty store, atomically.",
        epilog=_EXAMPLES,
    )
    copy.add_argument("source", metavar="FROM", help="URL of the source store")
    copy.add_argument("target", metavar="TO", help="URL of a new or empty store")
    copy.add_argument("--config", metavar="FILE", type=Path, help="server.properties with password.encoder.secret")
    copy.set_defaults(run=run_copy)
    verify = verbs.add_parser(
        "verify",
        help="check a store for damage",
        description="Check all contents of a SQLite store for damage. A server may be using it.",
        epilog=_VERIFY_EXAMPLES,
    )
    verify.add_argument(
        "store", metavar="URL", nargs="?", default="sqlite:///kconf.db", help="the store (default: %(default)s)"
    )
    add_output(verify)
    verify.set_defaults(run=command("store verify", run_verify))
    unset = verbs.add_parser(
        "unset",
        help="remove configs from a store that no server has open",
        description="Remove configs of a resource from a store that no server has open. All are removed or none.",
        epilog=_UNSET_EXAMPLES,
    )
    unset.add_argument("resource", metavar="RESOURCE", help="broker:N, brokers, topic:NAME, group:NAME, …")
    unset.add_argument("keys", metavar="KEY", nargs="+", help="config set on the resource")
    unset.add_argument(
        "--store",
        metavar="URL",
        default=SERVER_SETTINGS["--store"].key.default,
        help="the store (default: %(default)s)",
    )
    unset.add_argument("--config", metavar="FILE", type=Path, help="server.properties with password.encoder.secret")
    add_output(unset)
    unset.set_defaults(run=command("store unset", unset_configs))


def run_copy(options: argparse.Namespace) -> int:
    from kconf.security.value_cipher import Secrets
    from kconf.server.static_config import load_static
    from kconf.store.copy import copy_store

    secrets = Secrets.of(load_static(options.config, (), node_id=None))
    done = copy_store(options.source, options.target, secrets, _progress())
    print(
        f"{options.target}: {done.topics} topics, {done.resources} resources in all, "
        f"cluster {done.cluster_id}, epoch {done.epoch}, revision {done.revision}"
    )
    return 0


def run_verify(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.store.registry import verify_store

    found = verify_store(options.store)
    result.columns = [ResultColumn(each) for each in ("part", "status", "checked", "problem")]
    result.facts["store"] = options.store
    for part in found.parts:
        status = "damaged" if part.problems else "intact"
        for problem in part.problems or (None,):
            result.add(part=part.name, status=status, checked=part.detail, problem=problem)
    if found.is_damaged:
        result.status = FAILED
        result.notes.append(_STATE_DAMAGED if found.is_state_damaged else _STATE_WHOLE)


def _progress() -> Callable[[int, int], None]:
    """Shows progress on one line, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return lambda *_: None

    def report(done: int, of: int) -> None:
        write_controls(f"\r{done:,} of {of:,} resources" + ("\n" if done == of else ""), sys.stderr)

    return report


def unset_configs(options: argparse.Namespace, result: CommandResult) -> None:
    import logging
    import time
    from contextlib import closing

    from kconf.configdef.sensitive import HIDDEN
    from kconf.model.journal import RequestContext
    from kconf.operations.access.scram_store import own_name
    from kconf.operations.selection.selectors import parse_selector
    from kconf.operations.stored_configs import unset_stored
    from kconf.security.value_cipher import Secrets
    from kconf.server.static_config import load_static
    from kconf.store.registry import check_store_exists, open_store

    logging.getLogger("kconf").addHandler(logging.NullHandler())
    resources = parse_selector(options.resource).resources
    if len(resources) != 1:
        raise ConfigurationError(f"{options.resource!r} is not a single resource; pass its full name")
    secrets = Secrets.of(load_static(options.config, (), node_id=None))
    caller = RequestContext(f"User:{own_name()}", "kconf", "localhost", "kconf store unset")
    result.columns = [ResultColumn("resource"), ResultColumn("key"), ResultColumn("old"), ResultColumn("revision")]
    result.facts["store"] = options.store
    check_store_exists(options.store, secrets)
    with closing(open_store(options.store, secrets)) as store:
        done = unset_stored(store, resources[0], options.keys, caller, int(time.time() * 1000))
    for each in done.changes:
        old = HIDDEN if each.sensitive else each.before
        result.add(resource=str(each.resource), key=each.key, old=old, revision=done.revision)
