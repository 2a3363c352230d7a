"""Sources of bearer tokens: an OIDC token endpoint, AWS MSK IAM, or unsecured tokens for tests."""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from http.client import HTTPException
from math import isnan, nan
from threading import Lock
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import Request, urlopen

from kconf.client.auth.sasl import OAuthBearer, Token
from kconf.errors import AuthenticationFailed, ConfigurationError

_REFRESH_AFTER = 0.8  # fraction of a token's lifetime
_DEFAULT_LIFETIME = 300.0  # seconds, if the endpoint returns no expires_in (RFC 6749 only recommends it)


class ClientCredentials:
    """OIDC client credentials (KIP-768). A callable that fetches a token and caches it for most of its lifetime."""

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
                self._token, lifetime = self._fetch()
                self._until = self._clock() + _REFRESH_AFTER * lifetime
            return self._token

    def _fetch(self) -> tuple[str, float]:
        form = {"grant_type": "client_credentials", **({"scope": self._scope} if self._scope else {})}
        # RFC 6749 2.3.1: id and secret are form-encoded before they are joined.
        basic = b64encode(f"{quote_plus(self._client_id)}:{quote_plus(self._secret)}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
        try:
            with urlopen(Request(self._url, urlencode(form).encode(), headers), timeout=self._timeout) as response:
                content = response.read(1 << 20)
        except HTTPError as error:
            raise AuthenticationFailed(f"{self._url} returned no token: HTTP {error.code}{_detail(error)}") from None
        except (URLError, OSError) as error:
            raise AuthenticationFailed(f"{self._url} returned no token: {getattr(error, 'reason', error)}") from None
        except HTTPException as error:  # not HTTP, or cut off. The content may be secret
            raise AuthenticationFailed(f"{self._url} returned no token: {type(error).__name__}") from None
        except UnicodeError:
            raise AuthenticationFailed(f"{self._url} returned no token: invalid host name") from None
        try:
            body = json.loads(content)
        except ValueError:
            raise AuthenticationFailed(f"{self._url} did not return JSON") from None
        if not isinstance(body, dict) or not isinstance(body.get("access_token"), str):
            raise AuthenticationFailed(f"{self._url} returned no access_token")
        return body["access_token"], self._lifetime(body.get("expires_in"))

    def _lifetime(self, expires_in: object) -> float:
        """The lifetime in seconds. Some providers send a number as a string, or null."""
        if expires_in is None:
            return _DEFAULT_LIFETIME
        try:
            lifetime = float(expires_in) if isinstance(expires_in, int | float | str) else nan
        except (ValueError, OverflowError):
            lifetime = nan
        if isnan(lifetime) or isinstance(expires_in, bool):
            raise AuthenticationFailed(f"{self._url} returned an expires_in that is not a number of seconds")
        return lifetime


def _detail(error: HTTPError) -> str:
    """The error code of the response (RFC 6749 5.2). Nothing else of it is shown."""
    try:
        with error:
            code = json.loads(error.read(1 << 16)).get("error")
    except (ValueError, OSError, HTTPException, AttributeError):
        return ""
    return f", {code}" if isinstance(code, str) else ""


class MskIam(OAuthBearer):
    """AWS MSK IAM. Requires the extra `kconf[msk]`.

    The region is taken from the broker's host name, or from AWS_REGION.
    """

    def __init__(self, *, region: str | None = None, profile: str | None = None, role_arn: str | None = None) -> None:
        super().__init__(lambda: "")
        self._region, self._profile, self._role = region, profile, role_arn

    def __repr__(self) -> str:
        return f"MskIam(region={self._region!r})"

    def fetch(self, host: str) -> Token:
        try:
            from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as Signer  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise ConfigurationError("AWS MSK IAM needs an extra package: pip install 'kconf[msk]'") from None
        region = self._region or msk_region(host)
        try:
            if self._role:
                token, _ = Signer.generate_auth_token_from_role_arn(region, self._role)
            elif self._profile:
                token, _ = Signer.generate_auth_token_from_profile(region, self._profile)
            else:
                token, _ = Signer.generate_auth_token(region)
        except Exception as error:  # botocore's errors have no common base class
            raise AuthenticationFailed(
                f"AWS returned no token ({type(error).__name__}); check the AWS credentials"
            ) from error
        return Token(token)


def msk_region(host: str) -> str:
    """The AWS region in a host name such as `b-1.name.x1y2.c3.kafka.eu-west-1.amazonaws.com`."""
    found = re.search(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com", host)
    region = found[1] if found else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise ConfigurationError(f"the AWS region of {host} is unknown: set AWS_REGION")
    return region


def unsecured(subject: str, lifetime: float = 3600.0) -> str:
    """An unsigned token (Kafka's unsecured JWS), which a broker without a validator accepts."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + lifetime})
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
