"""`kconf scram`: who logs in with SCRAM, on a cluster, or with `--store` in a store that no server has open.

A password never stands on the command line and never leaves this machine: the cluster gets it salted and iterated.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.confirm import add_change
from kconf.cli.common.help import add_verb
from kconf.cli.common.target import Target, add_target, target
from kconf.cli.output.result import CommandResult, ResultColumn, command
from kconf.client.contexts.context import Context
from kconf.client.contexts.load import load_contexts
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.operations.execute import execute_plan
from kconf.operations.planned_change import HIDDEN, ChangePlan, PlannedChange

if TYPE_CHECKING:
    from kconf.operations.execute import Outcomes

_MECHANISMS: Final[dict[str, Mechanism]] = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
_VARIABLE: Final = "KCONF_SCRAM_PASSWORD"
_DEFAULT_STORE: Final = "kconf.db"
EXAMPLES: Final = f"""\
examples:
  kconf scram set --user alice --password-file /run/secrets/alice
  kconf scram set --user alice --mechanism SCRAM-SHA-512 --password-command 'pass show kafka/alice'
  kconf scram list
  kconf scram delete --user alice --mechanism SCRAM-SHA-512
  kconf scram set --store sqlite:////var/lib/kconf/kconf.db --user admin            before the first start of a server

The password comes from --password-file (- reads standard input), --password-command, the variable {_VARIABLE},
or the terminal. A store must not be in use.
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
        ("list", list_credentials, "List who has which credential."),
        ("set", set_credentials, "Set a user's password."),
        ("delete", delete_credentials, "Delete a user's credentials."),
    ):
        _add_verb(add_verb(verbs, name, about.rstrip(".").lower(), about, EXAMPLES), name, verb)


def _add_verb(
    parser: argparse.ArgumentParser, name: str, verb: Callable[[argparse.Namespace, CommandResult], None]
) -> None:
    add = parser.add_argument
    add("--user", metavar="NAME", required=name != "list", help="the user" + ("" if name != "list" else "; else all"))
    mechanisms = " or ".join(_MECHANISMS)
    default = "all that there are" if name == "delete" else "both"
    if name != "list":
        add(
            "--mechanism",
            metavar="NAME",
            action="append",
            choices=tuple(_MECHANISMS),
            help=f"{mechanisms}; may be repeated (default: {default})",
        )
    if name == "set":
        add("--iterations", metavar="N", type=int, default=4096, help="4096 to 16384 (default: %(default)s)")
        add("--password-file", metavar="FILE", help="file with the password, - for standard input")
        add("--password-command", metavar="COMMAND", help="prints the password")
    add("--store", metavar="URL", help="a store that no server has open, in place of a cluster")
    if name != "list":
        add_change(parser)
    add_target(parser)
    parser.set_defaults(run=command(f"scram {name}", verb))


def list_credentials(options: argparse.Namespace, answer: CommandResult) -> None:
    answer.columns = [ResultColumn("user"), ResultColumn("mechanism"), ResultColumn("iterations")]
    chosen, opened = _place(options)
    answer.facts["context"] = chosen.name
    with opened() as keeper:
        found = keeper.describe_user_scram_credentials([options.user] if options.user else None)
        failures = found.failures
        for user in found:
            if user in failures:
                answer.add(failures[user], user=user, mechanism=None, iterations=None)
                continue
            for each in found[user]:
                answer.add(user=user, mechanism=each.mechanism.word, iterations=each.iterations)


def set_credentials(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.client.calls.scram import scram_upsertion

    mechanisms = [_MECHANISMS[each] for each in dict.fromkeys(options.mechanism or _MECHANISMS)]
    chosen, opened = _place(options)
    chosen.check_writable()
    password = _password(options)
    wishes: list[UserScramCredentialUpsertion | UserScramCredentialDeletion] = [
        scram_upsertion(options.user, each, password, iterations=options.iterations) for each in mechanisms
    ]
    with opened() as keeper:
        there = _there(keeper, options.user)
        edits = [_edit(options.user, each, there, iterations=options.iterations) for each in mechanisms]
        _carry_out(answer, options, chosen, keeper, ChangePlan(edits, {}), wishes, "set the password of")


def delete_credentials(options: argparse.Namespace, answer: CommandResult) -> None:
    chosen, opened = _place(options)
    chosen.check_writable()
    with opened() as keeper:
        there = _there(keeper, options.user)
        named = [_MECHANISMS[each] for each in dict.fromkeys(options.mechanism or ())] or list(there)
        plan = ChangePlan([_edit(options.user, each, there) for each in named], {})
        if any(each not in there for each in named) or not named:
            missing = ApiError(ErrorCode.RESOURCE_NOT_FOUND, "there is no such credential")
            plan.failures[_resource(options.user)] = missing
        wishes: list[UserScramCredentialUpsertion | UserScramCredentialDeletion] = [
            UserScramCredentialDeletion(options.user, each) for each in named
        ]
        _carry_out(answer, options, chosen, keeper, plan, wishes, "delete credentials of")


def _carry_out(
    answer: CommandResult,
    options: argparse.Namespace,
    chosen: Target,
    keeper: Any,
    plan: ChangePlan,
    wishes: Sequence[UserScramCredentialUpsertion | UserScramCredentialDeletion],
    what: str,
) -> None:
    def send(resources: Sequence[Resource], _: bool) -> Outcomes:
        failures = keeper.alter_user_scram_credentials(wishes).failures
        return {each: failures.get(each.name) for each in resources}

    question = f"{what} {options.user}"
    execute_plan(answer, options, chosen, keeper, plan, send, asks=False, what=question, validates=False)


def _edit(
    user: str, mechanism: Mechanism, there: dict[Mechanism, int], *, iterations: int | None = None
) -> PlannedChange:
    old = f"{HIDDEN}, iterations={there[mechanism]}" if mechanism in there else None
    new = None if iterations is None else f"{HIDDEN}, iterations={iterations}"
    op = "delete" if iterations is None else "set"
    return PlannedChange(
        _resource(user),
        mechanism.word,
        None if old is None else HIDDEN,
        None if new is None else HIDDEN,
        op,
        old,
        new,
        sensitive=True,
        shown={"resource": f"user:{user}"},
    )


def _resource(user: str) -> Resource:
    return Resource(ResourceType.SCRAM, user)


def _there(keeper: Any, user: str) -> dict[Mechanism, int]:
    found = keeper.describe_user_scram_credentials([user])
    failure = found.failures.get(user)
    if failure is None:
        return {each.mechanism: each.iterations for each in found[user]}
    if failure.code == ErrorCode.RESOURCE_NOT_FOUND:
        return {}
    raise failure.error()


def _place(options: argparse.Namespace) -> tuple[Target, Callable[[], Any]]:
    """Where the credentials are, and how to open it: a cluster or a store, with the same two methods.

    Without a word about either, a store `kconf.db` in this directory is meant, if nobody has named a cluster for good.
    """
    store = options.store
    if store is None and not _names_a_cluster(options) and os.path.exists(_DEFAULT_STORE):
        store = f"sqlite:///{_DEFAULT_STORE}"
        print(f"kconf: this is about the store {store}; -b or -C name a cluster", file=sys.stderr)
    if store is None:
        chosen = target(options)
        return chosen, chosen.open
    if options.bootstrap_server is not None or options.context is not None:
        raise ConfigurationError("--store names a store, and -b or -C a cluster; give one of them")
    return Target(Context(bootstrap=store)), lambda: _stored(store)


def _names_a_cluster(options: argparse.Namespace) -> bool:
    named = options.bootstrap_server, options.context, os.environ.get("KCONF_CONTEXT")
    return any(named) or load_contexts().current is not None


@contextmanager
def _stored(url: str) -> Iterator[Any]:
    import logging

    from kconf.cli.compat.kip248.scram_store import StoredCredentials, own_name

    logging.getLogger("kconf").addHandler(logging.NullHandler())
    with StoredCredentials(url, principal=f"User:{own_name()}") as store:
        yield store


def _password(options: argparse.Namespace) -> str:
    if options.password_file and options.password_command:
        raise ConfigurationError("--password-file and --password-command both bring the password; give one of them")
    if options.password_command:
        from kconf.client.contexts.config_providers import output_of

        return output_of(options.password_command)
    if options.password_file:
        from kconf.operations.assignments import from_file

        piped = options.password_file == "-"
        password = sys.stdin.read() if piped else from_file("the password", options.password_file)
        password = password.removesuffix("\n").removesuffix("\r")
    elif _VARIABLE in os.environ:
        password = os.environ[_VARIABLE]
    elif sys.stdin.isatty():
        password = _asked(options.user)
    else:
        ways = f"--password-file, with --password-command, or in the variable {_VARIABLE}"
        raise ConfigurationError(f"give the password with {ways}")
    if not password:
        raise ConfigurationError("the password is empty")
    return password


def _asked(user: str) -> str:
    from getpass import getpass

    password = getpass(f"Password for {user}: ")
    if password != getpass("Once more: "):
        raise ConfigurationError("the two passwords differ")
    return password
