"""The OIDC provider of the console, and which of its users may log in. Unsafe settings are refused at startup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kconf.errors import ConfigurationError

DEFAULT_SCOPES: Final = ("openid", "profile")
DEFAULT_USER_CLAIM: Final = "sub"
"""The default of a kconf server (`sasl.oauthbearer.sub.claim.name`), so that pages and journal use the same name."""
_OWN_PARAMETERS: Final = frozenset(
    {
        "client_id",
        "client_secret",
        "code_challenge",
        "code_challenge_method",
        "nonce",
        "redirect_uri",
        "request",
        "request_uri",
        "response_mode",
        "response_type",
        "scope",
        "state",
    }
)


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """`required`: for each claim, the values of which a user must have at least one.

    `parameters` are added to the authorization request. Without a `client_secret` the console is a public client.
    """

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = DEFAULT_SCOPES
    user_claim: str = DEFAULT_USER_CLAIM
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    ca_file: str | None = None

    def check(self) -> None:
        """Raise an error if people could not log in safely."""
        if find_spec("jwt") is None or find_spec("cryptography") is None:
            raise ConfigurationError("--oidc-issuer needs another package: pip install 'kconf[oauth]'")
        if not is_safe_url(self.issuer) or urlsplit(self.issuer).query or urlsplit(self.issuer).fragment:
            raise ConfigurationError(f"--oidc-issuer takes an https URL without a query, not {self.issuer!r}")
        if not self.client_id or not self.user_claim:
            raise ConfigurationError("--oidc-client-id and --oidc-user-claim must not be empty")
        if "openid" not in self.scopes:
            raise ConfigurationError("--oidc-scope must contain openid: without it the provider sends no ID token")
        for name in self.parameters:
            if name in _OWN_PARAMETERS:
                raise ConfigurationError(f"--oidc-parameter cannot set {name}: the console sets it itself")
        if self.ca_file is not None and not Path(self.ca_file).is_file():
            raise ConfigurationError(f"--oidc-ca-file: {self.ca_file} does not exist")


def is_safe_url(url: str) -> bool:
    """An https URL, or http on this machine: nothing else keeps codes and tokens secret."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
