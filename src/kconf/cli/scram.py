"""`kconf scram`: SCRAM credentials in a store that no server has open, such as the first one's.

A server that is running takes them over the wire (kafka-configs, AlterUserScramCredentials).
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError, Failure
from kconf.model.journal import Caller
from kconf.model.plan import Draft
from kconf.model.scram import Deletion, Mechanism, Upsertion

if TYPE_CHECKING:
    from kconf.model.snapshot import Snapshot
    from kconf.store.base import Store

_MECHANISMS = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
_VARIABLE = "KCONF_SCRAM_PASSWORD"
_EXAMPLES = f"""\
examples:
  kconf scram set --store sqlite:////var/lib/kconf/kconf.db --user admin            asks for the password
  kconf scram set --user admin --mechanism SCRAM-SHA-512 --password-file /run/secrets/admin
  kconf scram list
  kconf scram delete --user admin

The password comes from --password-file (- reads standard input), from the variable {_VARIABLE}, or from the terminal,
never from the command line, which others can see. What is kept is salted and hashed. The store must not be in use.
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "scram",
        help="set, delete and list SCRAM credentials in a store, before a server runs on it",
        description="Set, delete and list SCRAM credentials in a store that no server has open.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("action", choices=("set", "delete", "list"), help="what to do")
    add = command.add_argument
    add("--store", metavar="URL", default="sqlite:///kconf.db", help="the store (default: %(default)s)")
    add("--user", metavar="NAME", help="the user; list shows all without it")
    add(
        "--mechanism",
        metavar="NAME",
        action="append",
        choices=tuple(_MECHANISMS),
        help=f"{' or '.join(_MECHANISMS)}; may be repeated (default: both)",
    )
    add("--iterations", metavar="N", type=int, default=4096, help="4096 to 16384 (default: %(default)s)")
    add("--password-file", metavar="FILE", help="file with the password, - for standard input")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kconf.store.base import open_store

    logging.getLogger("kconf").addHandler(logging.NullHandler())
    if options.action != "list" and not options.user:
        raise ConfigurationError(f"kconf scram {options.action} needs --user")
    password = _password(options) if options.action == "set" else ""
    store = open_store(options.store)
    try:
        if options.action == "list":
            return _list(store.load(), options.user)
        mechanisms = [_MECHANISMS[each] for each in options.mechanism or _MECHANISMS]
        return _alter(store, options, mechanisms, password)
    finally:
        store.close()


def _list(snapshot: Snapshot, user: str | None) -> int:
    from kconf.engine.credentials import describe_credentials

    for name, found in describe_credentials(snapshot, None if user is None else [user]).items():
        if isinstance(found, Failure):
            raise found.error()
        for each in found:
            print(f"{name}\t{each.mechanism.word}\titerations={each.iterations}")
    return 0


def _alter(store: Store, options: argparse.Namespace, mechanisms: Sequence[Mechanism], password: str) -> int:
    from kconf.client.calls_scram import scram_upsertion
    from kconf.engine.credentials import credential_text, plan_alter_credentials

    user, snapshot = options.user, store.load()
    upsertions: list[Upsertion] = []
    deletions: list[Deletion] = []
    if options.action == "set":
        upsertions = [scram_upsertion(user, each, password, iterations=options.iterations) for each in mechanisms]
    else:
        wanted = mechanisms if options.mechanism else [e for e in mechanisms if credential_text(snapshot, user, e)]
        deletions = [Deletion(user, each) for each in wanted or mechanisms]
    plan = plan_alter_credentials(snapshot, deletions, upsertions)
    failure = plan.outcome[user]
    if failure is not None:
        raise failure.error()
    caller = Caller(f"User:{_own_name()}", "kconf", "localhost", "kconf scram")
    store.commit([Draft(caller, int(time.time() * 1000), plan.changes, plan.guards)])
    done = "set" if upsertions else "deleted"
    print(f"{user}: {', '.join(change.key for change in plan.changes)} {done}")
    return 0


def _password(options: argparse.Namespace) -> str:
    if options.password_file == "-":
        password = sys.stdin.read()
    elif options.password_file:
        try:
            password = Path(options.password_file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{options.password_file} cannot be read: {error}") from None
    elif _VARIABLE in os.environ:
        return _some(os.environ[_VARIABLE])
    elif sys.stdin.isatty():
        from getpass import getpass

        password = getpass(f"Password for {options.user}: ")
        if password != getpass("Once more: "):
            raise ConfigurationError("the two passwords differ")
        return _some(password)
    else:
        raise ConfigurationError(f"give the password with --password-file, or in the variable {_VARIABLE}")
    return _some(password.removesuffix("\n").removesuffix("\r"))


def _some(password: str) -> str:
    if not password:
        raise ConfigurationError("the password is empty")
    return password


def _own_name() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):
        return str(os.getuid())
