"""The authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core), step by step.

1. `begin`: the browser is sent to the provider with a state, a nonce and a challenge that only its session knows.
2. The provider sends it back with a code.
3. `finish`: the console exchanges the code for tokens, and verifies the ID token.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import getLogger
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from kconf.console.security.login import LoginLimiter, LoginRefused
from kconf.console.security.oidc.http import ProviderRefused, ProviderUnavailable, shown_code
from kconf.console.security.oidc.id_token import NotAllowed, Person, check_access_hash, check_nonce, read_person
from kconf.console.security.oidc.provider import Provider, TokenResponse
from kconf.console.security.oidc.tokens import PersonTokens
from kconf.operations.target import TokenCredential
from kconf.server.auth.oauthbearer.jwt_validator import InvalidToken

if TYPE_CHECKING:
    from kconf.console.oidc_settings import OidcSettings
    from kconf.console.security.oidc.pending import PendingLogin, PendingLogins

log = getLogger(__name__)

EXPIRED = "This login has expired, was used before, or was started in another browser. Log in again."
_ANSWERS = {
    "access_denied": "you, or the provider, did not allow the login",
    "login_required": "the provider requires you to log in there first",
    "temporarily_unavailable": "the provider is overloaded; try again later",
    "server_error": "the provider has a problem; try again later",
}


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    """A person who has logged in with the provider."""

    person: Person
    tokens: PersonTokens = field(repr=False, compare=False)

    @property
    def user(self) -> str:
        return self.person.user

    @property
    def credential(self) -> TokenCredential:
        return TokenCredential(self.person.user, self.tokens)


class OidcLogin:
    """Logs people in at one provider. `client` is the address of the browser."""

    def __init__(
        self,
        settings: OidcSettings,
        provider: Provider | None = None,
        limiter: LoginLimiter | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.provider = provider or Provider(settings)
        self._settings, self._limiter, self._now = settings, limiter or LoginLimiter(), now

    def begin(self, logins: PendingLogins, to: str, redirect_uri: str, client: str) -> str:
        """The provider's address to redirect the browser to. Raises LoginRefused."""
        self._limiter.spend(("client", client))
        address = self.provider.metadata().authorization
        login = logins.begin(to, redirect_uri)
        given = {
            **self._settings.parameters,
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": login.state,
            "nonce": login.nonce,
            "code_challenge": login.challenge,
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(given)}"

    def finish(self, login: PendingLogin | None, response: Mapping[str, str], client: str) -> OidcIdentity:
        """The person who returns from the provider with this response. Raises LoginRefused."""
        if login is None:
            raise LoginRefused(EXPIRED)
        self._check_response(response)
        tokens = self._exchange(login, response.get("code", ""))
        try:
            person = self._person(login, tokens)
        except NotAllowed as refused:
            log.warning("a login from %s was refused: %s", client, refused)
            raise LoginRefused(f"You are logged in to {self.provider.issuer}, but {refused}.") from None
        except InvalidToken as error:
            log.warning("a login from %s was refused: the ID token of the provider is not valid: %s", client, error)
            raise LoginRefused(f"The ID token of {self.provider.issuer} was refused: {error}.") from None
        log.info("%s logged in with %s, from %s", person.principal, self.provider.issuer, client)
        return OidcIdentity(person, PersonTokens(self.provider, person, tokens, self._now))

    def _check_response(self, response: Mapping[str, str]) -> None:
        """Check the issuer of the response (RFC 9207), and whether it is an error (RFC 6749 4.1.2.1)."""
        issuer = response.get("iss")
        if issuer != self.provider.issuer and (issuer is not None or self.provider.metadata().names_itself):
            raise LoginRefused("The response is from another provider.")
        error = response.get("error")
        if error is not None:
            why = _ANSWERS.get(error) or f"error {shown_code(error) or 'without a code'}"
            raise LoginRefused(f"{self.provider.issuer} did not log you in: {why}.")
        if not response.get("code"):
            raise LoginRefused(f"{self.provider.issuer} sent no authorization code.")

    def _exchange(self, login: PendingLogin, code: str) -> TokenResponse:
        try:
            return self.provider.tokens(
                {
                    "grant_type": "authorization_code",
                    "code": code,
                    "redirect_uri": login.redirect_uri,
                    "code_verifier": login.verifier,
                }
            )
        except ProviderRefused as refused:
            if refused.code in ("invalid_client", "unauthorized_client"):
                log.error("%s does not accept this console as a client: %s", self.provider.issuer, refused.code)
            raise
        except ProviderUnavailable as error:
            log.warning("the authorization code could not be exchanged for tokens: %s", error)
            raise

    def _person(self, login: PendingLogin, tokens: TokenResponse) -> Person:
        if tokens.id_token is None:
            raise InvalidToken("there is none")
        claims = self.provider.verified(tokens.id_token)
        check_nonce(claims, login.nonce)
        check_access_hash(claims, _algorithm(tokens.id_token), tokens.access)
        return read_person(claims, self._settings, self._now())


def _algorithm(token: str) -> str:
    """The algorithm of a verified token."""
    from jwt import get_unverified_header

    return str(get_unverified_header(token)["alg"])
