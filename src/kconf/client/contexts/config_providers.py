"""Resolves references in a context's values: `${env:NAME}`, `${file:path:key}`, `${file:path}`, `${password}`.

References are resolved when a client is created. Resolved values are never shown, and never part of an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.contexts.context import Context

_REFERENCE: Final = r"\$\{(?:(env|file):([^}]*)|(password))\}"
_LOGIN: Final = ("sasl.jaas.config", "sasl.oauthbearer.", "sasl.login.")
"""Prefixes of properties with the context's credentials."""
_COMMAND_TIMEOUT: Final = 60.0  # seconds; the user may have to unlock a password store


def client_properties(context: Context) -> dict[str, str]:
    """Java client properties of a context, with all references resolved."""
    resolver = _Resolver(context)
    found = {key: resolver.resolve(value, key) for key, value in _given(context).items()}
    if context.user is not None and "sasl.jaas.config" not in found:
        found["sasl.jaas.config"] = _jaas(found, resolver.resolve(context.user, "user"), resolver.password())
    return found


def user_properties(context: Context, user: str, password: str) -> dict[str, str]:
    """Properties of a client that logs in as this user, without the context's own credentials.

    User and password are taken literally: a reference in them is not resolved.
    """
    found = client_properties(_without_login(context))
    if not found.get("security.protocol", "").strip().upper().startswith("SASL"):
        raise ConfigurationError(
            f"{context.name or context.bootstrap} does not support logins: its security.protocol is not SASL"
        )
    return {**found, "sasl.jaas.config": _jaas(found, user, password)}


def takes_tokens(context: Context) -> bool:
    """Whether clients of the context log in with bearer tokens of an OIDC provider."""
    given = _given(context)
    is_sasl = given.get("security.protocol", "").strip().upper().startswith("SASL")
    handler = given.get("sasl.login.callback.handler.class", "").lower()
    return is_sasl and given.get("sasl.mechanism", "").strip() == "OAUTHBEARER" and "iam" not in handler


def token_properties(context: Context) -> dict[str, str]:
    """Properties of a client that logs in with a user's token, without the context's own credentials."""
    found = client_properties(_without_login(context))
    if not takes_tokens(context):
        raise ConfigurationError(
            f"{context.name or context.bootstrap} does not accept tokens: it does not use OAUTHBEARER"
        )
    return found


def _given(context: Context) -> dict[str, str]:
    """The properties, with unresolved references."""
    given: dict[str, str] = {}
    if context.properties_file is not None:
        from kconf.client.properties import read_file

        given.update(read_file(context.properties_file))
    given.update(context.properties)
    return given


def _without_login(context: Context) -> Context:
    given = {key: value for key, value in _given(context).items() if not key.startswith(_LOGIN)}
    return context._replace(properties_file=None, properties=given, user=None, password=None, password_command=None)


def bootstrap(context: Context) -> str:
    return _Resolver(context).resolve(context.bootstrap, "bootstrap")


def controllers(context: Context) -> str:
    return _Resolver(context).resolve(context.controllers or "", "controllers")


def controller_properties(context: Context) -> dict[str, str]:
    """Properties of a client for the controllers: from their own file, or those of the context."""
    if context.controller_properties is None:
        return client_properties(context)
    from kconf.client.properties import read_file

    resolver = _Resolver(context)
    return {key: resolver.resolve(value, key) for key, value in read_file(context.controller_properties).items()}


class _Resolver:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._password: str | None = None

    def resolve(self, text: str, key: str) -> str:
        if "${" not in text:
            return text

        def replacement(match: re.Match[str]) -> str:
            kind, name, _ = match.groups()
            if kind == "env":
                return _variable(name, key)
            return _from_file(name, key) if kind == "file" else self.password()

        return re.sub(_REFERENCE, replacement, text)

    def password(self) -> str:
        if self._password is None:
            given, command = self._context.password, self._context.password_command
            if command is not None:
                self._password = output_of(command)
            elif given is not None and "${password}" not in given:
                self._password = self.resolve(given, "password")
            else:
                raise ConfigurationError(f"the context {self._context.name!r} has no password")
        return self._password


def _variable(name: str, key: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ConfigurationError(f"{key}: the variable {name} is not set")
    return value


def _from_file(name: str, key: str) -> str:
    path, colon, wanted = name.rpartition(":")
    path = os.path.expanduser(path if colon else wanted)
    if not colon:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigurationError(f"{key}: cannot read the file {path}: {reason}") from None
    from kconf.client.properties import read_file

    found = read_file(path)
    if wanted not in found:
        raise ConfigurationError(f"{key}: {wanted} is not in the file {path}")
    return found[wanted]


def output_of(command: str) -> str:
    """The first line of a command's stdout. Its stderr goes to the terminal."""
    import subprocess

    try:
        done = subprocess.run(
            command,
            shell=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_COMMAND_TIMEOUT,
            check=False,
            errors="strict",
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise ConfigurationError("the password command could not be run or did not finish") from None
    if done.returncode:
        raise ConfigurationError(f"the password command failed with exit code {done.returncode}")
    first = done.stdout.split("\n", 1)[0].rstrip("\r")
    if not first:
        raise ConfigurationError("the password command printed nothing")
    return first


def _jaas(properties: Mapping[str, str], user: str, password: str) -> str:
    mechanism = properties.get("sasl.mechanism", "")
    modules = {"PLAIN": "plain.PlainLoginModule"}
    modules.update(dict.fromkeys(("SCRAM-SHA-256", "SCRAM-SHA-512"), "scram.ScramLoginModule"))
    if mechanism not in modules:
        raise ConfigurationError(f"a context with a user needs sasl.mechanism, one of {', '.join(modules)}")
    quoted = [re.sub(r'(["\\])', r"\\\1", each) for each in (user, password)]
    name = f"org.apache.kafka.common.security.{modules[mechanism]}"
    return f'{name} required username="{quoted[0]}" password="{quoted[1]}";'


def is_reference(text: str) -> bool:
    """Whether a value contains a reference instead of a secret. A JAAS config may contain one among other options."""
    return re.search(_REFERENCE, text) is not None
