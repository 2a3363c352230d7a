"""The options of a console whose users log in with an OIDC provider: the same for `kconf console` and `kconf serve`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.console.oidc_settings import OidcSettings

SECRET_VARIABLE: Final = "KCONF_OIDC_CLIENT_SECRET"
_MAX_SECRET: Final = 1 << 16
_ONLY_WITH_ISSUER: Final = (
    "oidc_client_id",
    "oidc_client_secret_file",
    "oidc_scope",
    "oidc_user_claim",
    "oidc_require",
    "oidc_parameter",
    "oidc_ca_file",
)


def add_oidc(parser: argparse.ArgumentParser, *, option: str = "") -> None:
    """`option` is the option that these options belong to; empty if they belong to the command itself."""
    only = f", with {option}" if option else ""
    add = parser.add_argument_group(f"log in with OpenID Connect{only}").add_argument
    add(
        "--oidc-issuer",
        metavar="URL",
        help="issuer URL of the provider at which people log in (authorization code flow with PKCE)",
    )
    add("--oidc-client-id", metavar="ID", help="client ID of the console at the provider")
    add(
        "--oidc-client-secret-file",
        metavar="FILE",
        help=f"file with the client secret (default: the variable {SECRET_VARIABLE}; if unset, a public client)",
    )
    add(
        "--oidc-scope",
        metavar="SCOPE",
        action="append",
        default=[],
        help="scope to request; may be repeated (default: openid and profile)",
    )
    add(
        "--oidc-user-claim",
        metavar="CLAIM",
        help="claim of the ID token that names the user: the principal is User:VALUE (default: sub, as on a server)",
    )
    add(
        "--oidc-require",
        metavar="CLAIM=VALUE",
        action="append",
        default=[],
        help="only people with this value of a claim may log in, for example groups=kafka-admins; may be repeated: one "
        "value of each claim must match",
    )
    add(
        "--oidc-parameter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="additional parameter of the authorization request, for example audience=kafka; may be repeated",
    )
    add("--oidc-ca-file", metavar="FILE", help="CA certificates (PEM) for the provider, instead of those of the system")
    add(
        "--public-url",
        metavar="URL",
        help="public address of the console, if it is behind a proxy; the redirect URI is URL/-/oidc/callback",
    )


def oidc_settings(options: argparse.Namespace) -> OidcSettings | None:
    """The settings from the options; None without --oidc-issuer."""
    from kconf.console.oidc_settings import DEFAULT_SCOPES, DEFAULT_USER_CLAIM, OidcSettings

    if options.oidc_issuer is None:
        given = next((each for each in _ONLY_WITH_ISSUER if getattr(options, each)), None)
        if given is not None:
            raise ConfigurationError(f"--{given.replace('_', '-')} needs --oidc-issuer")
        return None
    if options.oidc_client_id is None:
        raise ConfigurationError("--oidc-issuer needs --oidc-client-id")
    scopes = tuple(dict.fromkeys(name for each in options.oidc_scope for name in each.split()))
    return OidcSettings(
        options.oidc_issuer,
        options.oidc_client_id,
        _secret(options.oidc_client_secret_file),
        scopes or DEFAULT_SCOPES,
        options.oidc_user_claim or DEFAULT_USER_CLAIM,
        _required(options.oidc_require),
        dict(_pairs("--oidc-parameter", options.oidc_parameter)),
        options.oidc_ca_file,
    )


def _secret(path: str | None) -> str | None:
    if path is None:
        return os.environ.get(SECRET_VARIABLE) or None
    try:
        with Path(path).open(encoding="utf-8") as file:
            found = file.read(_MAX_SECRET).rstrip("\r\n")
    except OSError as error:
        raise ConfigurationError(f"--oidc-client-secret-file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"--oidc-client-secret-file {path} is not UTF-8") from None
    if not found:
        raise ConfigurationError(f"--oidc-client-secret-file {path} is empty")
    return found


def _required(given: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for claim, value in _pairs("--oidc-require", given):
        found[claim] = (*found.get(claim, ()), value)
    return found


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    """Parse NAME=VALUE. A name may be a URL, but cannot contain an equals sign."""
    found = []
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name or not value:
            raise ConfigurationError(f"{option} takes NAME=VALUE, not {each!r}")
        found.append((name, value))
    return found
