"""`kconf scram`: SCRAM credentials on a cluster or, with `--store`, in a store that no server has open.

A password is never passed on the command line and never sent: the cluster gets only the salted, iterated hash.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import Command, command
from kconf.cli.common.confirm import add_change
from kconf.cli.common.execute import execute
from kconf.cli.common.help import add_verb
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.client.contexts.context import Context
from kconf.client.contexts.load import load_contexts
from kconf.errors import ConfigurationError
from kconf.operations.access.scram import MECHANISMS, NewPassword, delete_request, set_request
from kconf.operations.target import Target

if TYPE_CHECKING:
    from kconf.operations.access.scram_store import StoredCredentials

_VARIABLE: Final = "KCONF_SCRAM_PASSWORD"
_DEFAULT_STORE: Final = "kconf.db"
EXAMPLES: Final = f"""\
examples:
  kconf scram set --user alice --password-file /run/secrets/alice
  kconf scram set --user alice --mechanism SCRAM-SHA-512 --password-command 'pass show kafka/alice'
  kconf scram list
  kconf scram delete --user alice --mechanism SCRAM-SHA-512
  kconf scram set --store sqlite:////var/lib/kconf/kconf.db --user admin            before the server's first start
  kconf scram credential --user alice --password-file /run/secrets/alice            a line for gateway.scram.file

The password is read from --password-file (- for standard input), --password-command, the variable {_VARIABLE},
or the terminal. With --store, no server may have the store open.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "scram",
        help="list, set and delete SCRAM credentials",
        description="List, set and delete SCRAM credentials, on a cluster or in a store that no server has open.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, verb, about in (
        ("list", list_credentials, "List users and their SCRAM mechanisms."),
        ("set", set_credentials, "Set a user's password; an existing user keeps its mechanisms and iterations."),
        ("delete", delete_credentials, "Delete a user's credentials."),
    ):
        summary = about[0].lower() + about[1:].partition(";")[0].rstrip(".")
        _add_verb(add_verb(verbs, name, summary, about, EXAMPLES), name, verb)
    about = "Print a user's credentials for gateway.scram.file, the SCRAM users of a gateway. Nothing is sent."
    summary = "print a user's credentials for gateway.scram.file"
    parser = add_verb(verbs, "credential", summary, about, EXAMPLES)
    parser.add_argument("--user", metavar="NAME", required=True, help="the user")
    _add_mechanism(parser, default="both")
    _add_password(parser, default="4096")
    parser.set_defaults(run=print_credentials)


def _add_verb(parser: argparse.ArgumentParser, name: str, run: Command) -> None:
    add = parser.add_argument
    add(
        "--user",
        metavar="NAME",
        required=name != "list",
        help="the user" + ("" if name != "list" else " (default: all)"),
    )
    if name != "list":
        default = "all" if name == "delete" else "those that the user has; both for a new user"
        _add_mechanism(parser, default=default)
    if name == "set":
        _add_password(parser, default="unchanged; 4096 for a new user")
    add("--store", metavar="URL", help="use this store instead of a cluster; no server may have it open")
    if name != "list":
        add_change(parser)
    add_target(parser)
    parser.set_defaults(run=command(f"scram {name}", run))


def _add_mechanism(parser: argparse.ArgumentParser, *, default: str) -> None:
    mechanisms = " or ".join(MECHANISMS)
    parser.add_argument(
        "--mechanism",
        metavar="NAME",
        action="append",
        choices=tuple(MECHANISMS),
        help=f"{mechanisms}; may be repeated (default: {default})",
    )


def _add_password(parser: argparse.ArgumentParser, *, default: str) -> None:
    add = parser.add_argument
    add("--iterations", metavar="N", type=int, help=f"4096 to 16384 (default: {default})")
    add("--password-file", metavar="FILE", help="file with the password, - for standard input")
    add("--password-command", metavar="COMMAND", help="command that prints the password")


def list_credentials(options: argparse.Namespace, result: CommandResult) -> None:
    result.columns = [ResultColumn("user"), ResultColumn("mechanism"), ResultColumn("iterations")]
    place, opened = _place(options)
    result.facts["context"] = place.name
    with opened() as admin:
        found = admin.describe_user_scram_credentials([options.user] if options.user else None)
        failures = found.failures
        for user in found:
            if user in failures:
                result.add(failures[user], user=user, mechanism=None, iterations=None)
                continue
            for each in found[user]:
                result.add(user=user, mechanism=each.mechanism.word, iterations=each.iterations)


def set_credentials(options: argparse.Namespace, result: CommandResult) -> None:
    mechanisms = [MECHANISMS[each] for each in dict.fromkeys(options.mechanism or ())]
    place, opened = _place(options)
    place.check_writable()
    new = NewPassword(options.user, _password(options), mechanisms, options.iterations)
    with opened() as admin:
        request, others = set_request(admin, new, options.reason)
        if others:
            words = " and ".join(each.word for each in others)
            result.notes.append(f"{options.user} can still log in with {words} and the old password")
        execute(result, options, place, admin, request)


def delete_credentials(options: argparse.Namespace, result: CommandResult) -> None:
    place, opened = _place(options)
    place.check_writable()
    mechanisms = [MECHANISMS[each] for each in dict.fromkeys(options.mechanism or ())]
    with opened() as admin:
        execute(result, options, place, admin, delete_request(admin, options.user, mechanisms, options.reason))


def print_credentials(options: argparse.Namespace) -> int:
    """Print the lines of a user for a gateway's own SCRAM users. Nothing is sent."""
    from kconf.operations.access.scram import credential_lines

    mechanisms = [MECHANISMS[each] for each in dict.fromkeys(options.mechanism or ())]
    new = NewPassword(options.user, _password(options), mechanisms, options.iterations)
    for each in credential_lines(new):
        print(each)
    return 0


def _place(options: argparse.Namespace) -> tuple[Target, Callable[[], AbstractContextManager[Any]]]:
    """The cluster or store with the credentials, and how to open it; both have the same two methods.

    If neither is given and there is no current context, the store `kconf.db` in this directory is used, if it exists.
    """
    store = options.store
    if store is None and not _names_a_cluster(options) and os.path.exists(_DEFAULT_STORE):
        store = f"sqlite:///{_DEFAULT_STORE}"
        print(f"kconf: using the store {store}; pass -b or -C to use a cluster", file=sys.stderr)
    if store is None:
        cluster = target(options)
        return cluster, cluster.open
    if options.bootstrap_server is not None or options.context is not None:
        raise ConfigurationError("--store cannot be combined with -b or -C")
    return Target(Context(bootstrap=store)), lambda: _stored(store)


def _names_a_cluster(options: argparse.Namespace) -> bool:
    named = options.bootstrap_server, options.context, os.environ.get("KCONF_CONTEXT")
    return any(named) or bool(load_contexts().contexts)


@contextmanager
def _stored(url: str) -> Iterator[StoredCredentials]:
    import logging

    from kconf.operations.access.scram_store import StoredCredentials, own_name

    logging.getLogger("kconf").addHandler(logging.NullHandler())
    with StoredCredentials(url, principal=f"User:{own_name()}") as store:
        yield store


def _password(options: argparse.Namespace) -> str:
    if options.password_file and options.password_command:
        raise ConfigurationError("--password-file and --password-command are mutually exclusive")
    if options.password_command:
        from kconf.client.contexts.config_providers import output_of

        return output_of(options.password_command)
    if options.password_file:
        from kconf.operations.assignments import read_value_file

        piped = options.password_file == "-"
        password = sys.stdin.read() if piped else read_value_file("the password", options.password_file)
        password = password.removesuffix("\n").removesuffix("\r")
    elif _VARIABLE in os.environ:
        password = os.environ[_VARIABLE]
    elif sys.stdin.isatty():
        password = _prompt(options.user)
    else:
        ways = f"--password-file, with --password-command, or in the variable {_VARIABLE}"
        raise ConfigurationError(f"no password; pass it with {ways}")
    if not password:
        raise ConfigurationError("the password is empty")
    return password


def _prompt(user: str) -> str:
    from getpass import getpass

    password = getpass(f"Password for {user}: ")
    if password != getpass("Repeat password: "):
        raise ConfigurationError("the passwords do not match")
    return password
