"""A user's SCRAM credentials on the command line: `SCRAM-SHA-256=[iterations=8192,password=…]`.

A password on the command line is visible in the process list. So it can also be read from a file (`password=@path`),
the environment (`password=env:NAME`) or stdin (`password=-`).
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from kconf.cli.compat.kafka_configs.alter_output import AlterOptions, completed, print_difference
from kconf.cli.compat.kafka_configs.arguments import InvalidArguments
from kconf.errors import UnacceptableCredential
from kconf.model.scram import Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kconf.cli.compat.kafka_configs.entities import Entities
    from kconf.cli.compat.kafka_configs.grammar import ConfigSpecs
    from kconf.client.admin_sync import SyncAdminClient

TIMEOUT = 60.0
_STRICT = r"(?:iterations=(-?[0-9]*),)?password=(.*)"
_FORM = r"\[?(?:iterations=(-?[0-9]*),\s*)?password=(.*)"


class CredentialSpec(NamedTuple):
    """A requested credential; its repr hides the password."""

    mechanism: Mechanism
    iterations: int
    password: str

    def __repr__(self) -> str:
        return f"CredentialSpec({self.mechanism.word}, {self.iterations})"


def mechanism_of(name: str) -> Mechanism:
    return {each.word: each for each in Mechanism}[name]


def parse_credential(name: str, text: str, *, strict: bool = False) -> CredentialSpec:
    """Parse the value of a mechanism's key, without the surrounding brackets or (in a file) with them."""
    mechanism = mechanism_of(name)
    found = re.fullmatch(_STRICT if strict else _FORM, text)
    if found is None:
        shape = f"{name}=[iterations=N,password=P]"
        hint = "[hidden]" if strict else f"[hidden]; expected {shape}"
        raise InvalidArguments(f"Invalid credential property {mechanism.name}={hint}")
    count, password = found.groups()
    if not strict and text.startswith("["):
        password = password.removesuffix("]")
    if count is not None and not (count.removeprefix("-").isdecimal() and len(count) <= 10 and int(count) < 2**31):
        raise InvalidArguments(f'For input string: "{count}"')
    iterations = 4096 if count is None or int(count) == -1 else int(count)
    if iterations < 4096:
        raise InvalidArguments(f"Iterations {iterations} is less than the minimum 4096 required for {name}")
    return CredentialSpec(mechanism, iterations, password if strict else _fetched(password))


def _fetched(password: str) -> str:
    """The password itself, or the content of the named file, variable or stream."""
    if password == "-":
        return sys.stdin.readline().rstrip("\r\n")
    if password.startswith("env:"):
        name = password.removeprefix("env:")
        if name not in os.environ:
            raise InvalidArguments(f"password=env:{name}: the variable is not set")
        return os.environ[name]
    if password.startswith("@"):
        try:
            with open(password[1:], encoding="utf-8") as file:
                return file.read().rstrip("\r\n")
        except (OSError, UnicodeError, ValueError):
            raise InvalidArguments(
                "password=@FILE: the file cannot be read. A password that itself starts with @ must be read from a file"
            ) from None
    return password


def upsertions(user: str, specs: Sequence[CredentialSpec]) -> list[UserScramCredentialUpsertion]:
    from kconf.client.calls.scram import scram_upsertion

    for each in specs:
        if not each.password:
            raise UnacceptableCredential("Password must not be empty")
    return [scram_upsertion(user, each.mechanism, each.password, iterations=each.iterations) for each in specs]


def alter_credentials(admin: SyncAdminClient, given: Entities, specs: ConfigSpecs, options: AlterOptions) -> int:
    user = given.names[0]
    both = [key for key in specs.delete if key in specs.add]
    if both:
        raise InvalidArguments(f"{', '.join(both)} cannot be both added and deleted")
    wanted = [parse_credential(key, text, strict=options.strict) for key, text in specs.add.items()]
    if options.dry_run:
        from kconf.cli.compat.kafka_configs.difference import of_credentials

        before = admin.describe_user_scram_credentials([user], timeout=TIMEOUT)
        there = {} if user in before.failures else {each.mechanism.word: each.iterations for each in before[user]}
        after = {each.mechanism.word: each.iterations for each in wanted}
        print_difference(of_credentials(user, there, after, specs.delete), options)
        return 0
    deletions = [UserScramCredentialDeletion(user, mechanism_of(name)) for name in dict.fromkeys(specs.delete)]
    results = admin.alter_user_scram_credentials([*deletions, *upsertions(user, wanted)], timeout=TIMEOUT)
    results[user]
    completed(given, options, specs)
    return 0
