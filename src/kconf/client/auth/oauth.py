"""Where bearer tokens come from: an OIDC provider's token endpoint, AWS's signer, or nowhere (unsecured, for tests)."""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from threading import Lock
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import Request, urlopen

from kconf.client.auth.sasl import OAuthBearer, Token
from kconf.errors import AuthenticationFailed, ConfigurationError

_USED = 0.8  # of a token's life; then another is fetched


class ClientCredentials:
    """OIDC client credentials (KIP-768): a callable that fetches a token, and keeps it for most of its life."""

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        *,
        scope: str | None = None,
        timeout: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ConfigurationError("a token endpoint must be an http or https URL")
        self._url, self._client_id, self._secret, self._scope = url, client_id, client_secret, scope
        self._timeout, self._clock = timeout, clock
        self._token, self._until = "", 0.0
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"ClientCredentials({self._url!r}, {self._client_id!r})"

    def __call__(self) -> str:
        with self._lock:
            if self._clock() >= self._until:
                self._token, life = self._fetch()
                self._until = self._clock() + _USED * life
            return self._token

    def _fetch(self) -> tuple[str, float]:
        form = {"grant_type": "client_credentials", **({"scope": self._scope} if self._scope else {})}
        # RFC 6749 2.3.1: both are form-encoded before they are joined.
        basic = b64encode(f"{quote_plus(self._client_id)}:{quote_plus(self._secret)}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
        try:
            with urlopen(Request(self._url, urlencode(form).encode(), headers), timeout=self._timeout) as answer:
                told = json.loads(answer.read(1 << 20))
        except HTTPError as error:
            raise AuthenticationFailed(f"{self._url} gives no token: HTTP {error.code}{_detail(error)}") from None
        except (URLError, OSError) as error:
            raise AuthenticationFailed(f"{self._url} gives no token: {getattr(error, 'reason', error)}") from None
        except ValueError:
            raise AuthenticationFailed(f"{self._url} gives something that is no JSON") from None
        if not isinstance(told, dict) or not isinstance(told.get("access_token"), str):
            raise AuthenticationFailed(f"{self._url} gives an answer without an access_token")
        return told["access_token"], float(told.get("expires_in", 300))


def _detail(error: HTTPError) -> str:
    """RFC 6749 5.2: an error's code; nothing else of the answer is shown."""
    try:
        with error:
            code = json.loads(error.read(1 << 16)).get("error")
    except (ValueError, OSError, AttributeError):
        return ""
    return f", {code}" if isinstance(code, str) else ""


class MskIam(OAuthBearer):
    """AWS MSK with IAM. Needs the extra `kconf[msk]`; the region is that of the broker's name, or AWS_REGION."""

    def __init__(self, *, region: str | None = None, profile: str | None = None, role_arn: str | None = None) -> None:
        super().__init__(lambda: "")
        self._region, self._profile, self._role = region, profile, role_arn

    def __repr__(self) -> str:
        return f"MskIam(region={self._region!r})"

    def fetch(self, host: str) -> Token:
        try:
            from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as Signer  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise ConfigurationError("AWS MSK IAM needs one package more: pip install 'kconf[msk]'") from None
        region = self._region or msk_region(host)
        try:
            if self._role:
                token, _ = Signer.generate_auth_token_from_role_arn(region, self._role)
            elif self._profile:
                token, _ = Signer.generate_auth_token_from_profile(region, self._profile)
            else:
                token, _ = Signer.generate_auth_token(region)
        except Exception as error:  # whatever botocore has: it becomes a failed login
            raise AuthenticationFailed(
                f"AWS gives no token ({type(error).__name__}): are there credentials?"
            ) from error
        return Token(token)


def msk_region(host: str) -> str:
    """`b-1.name.x1y2.c3.kafka.eu-west-1.amazonaws.com` tells its region."""
    found = re.search(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com", host)
    region = found[1] if found else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise ConfigurationError(f"the AWS region of {host} is unknown: set AWS_REGION")
    return region


def unsecured(subject: str, lifetime: float = 3600.0) -> str:
    """A token that nobody signed (Kafka's unsecured JWS): a broker without a validator takes it."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + lifetime})
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
