"""A provider without a network: its metadata, keys and responses are values, and requests are recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from starlette.testclient import TestClient

from kconf.client.contexts.context import Context
from kconf.console.app import create_app
from kconf.console.cluster.snapshot import ClusterSnapshot
from kconf.console.console import Console
from kconf.console.oidc_settings import OidcSettings
from kconf.console.security.oidc.http import ProviderHttp, ProviderUnavailable
from kconf.console.security.oidc.login import OidcLogin
from kconf.console.security.oidc.provider import WELL_KNOWN, Provider
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from tests.support.token_server import SigningKey, key_set
from tests.unit.console.world import BASE, FixedMonitors

ISSUER, CLIENT, SECRET = "https://idp.test", "console", "s3cret of the client"
ACCESS, REFRESH = "access-token-1", "refresh-token-1"
TOKENS = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
SIGNER = SigningKey()


def settings(**more: Any) -> OidcSettings:
    return OidcSettings(**{"issuer": ISSUER, "client_id": CLIENT, "client_secret": SECRET, **more})


def id_token(key: SigningKey = SIGNER, headers: Mapping[str, Any] | None = None, **claims: Any) -> str:
    """An ID token of ana for the console; a claim that is None is left out."""
    now = int(time.time())
    usual = {"iss": ISSUER, "aud": CLIENT, "sub": "id-1", "preferred_username": "ana", "iat": now, "exp": now + 300}
    return key.token(headers, **{**usual, "scope": None, **claims})


class FakeHttp(ProviderHttp):
    """`claims` are those of the next ID token, in addition to its nonce. An exception in `answer` is raised."""

    def __init__(self, **metadata: Any) -> None:
        super().__init__(ISSUER)
        self.metadata = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "end_session_endpoint": f"{ISSUER}/logout?from=app",
            **metadata,
        }
        self.keys = [SIGNER]
        self.claims: dict[str, Any] = {}
        self.nonce = ""
        self.answer: dict[str, Any] | Exception = {}
        self.is_unreachable = False
        self.fetched: list[str] = []
        self.posted: list[tuple[str, Mapping[str, str], Mapping[str, str]]] = []

    def get(self, url: str) -> bytes:
        if self.is_unreachable:
            raise ProviderUnavailable(f"{ISSUER} cannot be reached: Connection refused")
        self.fetched.append(url)
        found = json.dumps(self.metadata) if url == f"{ISSUER}{WELL_KNOWN}" else key_set(*self.keys)
        return found.encode()

    def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Mapping[str, Any]:
        if self.is_unreachable:
            raise ProviderUnavailable(f"{ISSUER} cannot be reached: Connection refused")
        self.posted.append((url, form, headers))
        if isinstance(self.answer, Exception):
            raise self.answer
        return {
            "access_token": ACCESS,
            "token_type": "Bearer",
            "expires_in": 300,
            "refresh_token": REFRESH,
            "id_token": id_token(self.keys[0], **{"nonce": self.nonce, **self.claims}),
            **self.answer,
        }


class Browser:
    """A browser of a console with hand-written clusters. `begin` and `finish` are the two halves of a login."""

    def __init__(
        self,
        snapshots: Mapping[str, ClusterSnapshot],
        *,
        http: FakeHttp | None = None,
        oidc: OidcSettings | None = None,
        takes_tokens: bool = True,
        **more: Any,
    ) -> None:
        http = http or FakeHttp()
        properties = TOKENS if takes_tokens else {}
        targets = [Target(Context(name, "127.0.0.1:1", properties=properties)) for name in snapshots]
        given = ConsoleSettings(ListenAddress("127.0.0.1", 8080), targets, oidc=oidc or settings(), **more)
        console = Console(given)
        console.monitors = FixedMonitors(targets, snapshots)  # type: ignore[assignment]
        assert given.oidc is not None
        console.oidc = OidcLogin(given.oidc, Provider(given.oidc, http))
        self._open(console, http)

    def _open(self, console: Console, http: FakeHttp) -> None:
        self.console, self.http = console, http
        self.client = self.other()

    @classmethod
    def of(cls, console: Console, http: FakeHttp) -> Self:
        """A browser of a console that is there already."""
        found = cls.__new__(cls)
        found._open(console, http)
        return found

    def other(self) -> TestClient:
        """Another browser."""
        return TestClient(create_app(self.console), base_url=BASE, follow_redirects=False)

    def begin(self, to: str = "/home/topics") -> dict[str, str]:
        """Follow the link to the provider; returns the parameters of the request."""
        location = self.client.get("/-/oidc/start", params={"to": to}).headers["location"]
        assert location.startswith(f"{self.http.metadata['authorization_endpoint']}?")
        asked = dict(parse_qsl(urlsplit(location).query))
        self.http.nonce = asked["nonce"]
        return asked

    def finish(self, asked: Mapping[str, str], **more: str) -> Any:
        """Return from the provider with a code."""
        return self.client.get("/-/oidc/callback", params={"code": "c0de", "state": asked["state"], **more})

    def log_in(self, to: str = "/home/topics") -> Any:
        return self.finish(self.begin(to))
