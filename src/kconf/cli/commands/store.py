"""`kconf store copy`: move a cluster's whole state from one store to another."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

_EXAMPLES = """\
examples:
  kconf store copy sqlite:///kconf.db zookeeper://zk1:2181,zk2:2181,zk3:2181/kconf
  kconf store copy zookeeper://zk1:2181/kafka sqlite:////var/lib/kconf/kconf.db --config server.properties

Topics with their ids, configs, quotas, credentials and ACLs go along, locked values too (--config names the file with
password.encoder.secret). The journal stays where it is: the new store begins the next epoch, with the whole state as
its first changes. Stop the servers of FROM first, and start them on TO: what is changed in between is not copied.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "store",
        help="copy a store into another one, SQLite or ZooKeeper",
        description="Work on stores as a whole.",
    )
    verbs = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    copy = verbs.add_parser(
        "copy",
        help="copy all state into an empty store",
        description="Copy all state into an empty store, all or nothing.",
        epilog=_EXAMPLES,
    )
    copy.add_argument("source", metavar="FROM", help="URL of the store that has the state")
    copy.add_argument("target", metavar="TO", help="URL of an empty or new one")
    copy.add_argument("--config", metavar="FILE", type=Path, help="server.properties with password.encoder.secret")
    copy.set_defaults(run=run_copy)


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


def _progress() -> Callable[[int, int], None]:
    """Shows progress on one line, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return lambda *_: None

    def report(done: int, of: int) -> None:
        print(f"\r{done:,} of {of:,} resources", end="\n" if done == of else "", file=sys.stderr, flush=True)

    return report
