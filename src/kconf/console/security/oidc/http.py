"""Requests to the provider: JSON over HTTPS, limited in time and size, without redirects.

Errors contain no data of the request, and only the OAuth error code of the response.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import IO, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from kconf.console.oidc_settings import is_loopback
from kconf.console.security.login import LoginRefused
from kconf.security.tls import Tls

MAX_BYTES: Final = 1 << 20
TIMEOUT: Final = 10.0  # seconds, for all of a response
_CODE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,64}")  # RFC 6749 5.2, without spaces


class ProviderUnavailable(LoginRefused):
    """The provider does not respond, or its response is not valid."""


class ProviderRefused(LoginRefused):
    """The provider responded with an OAuth error: `code`."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code


class _NoRedirection(HTTPRedirectHandler):
    """Refuses redirects: a code or a secret is sent only to the address in the metadata."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        return None


class ProviderHttp:
    """Fetches from one provider. `ca_file` has the certificates to trust, instead of the system's."""

    def __init__(self, issuer: str, ca_file: str | None = None) -> None:
        self._issuer = issuer
        handlers: list[Any] = [HTTPSHandler(context=Tls(ca=ca_file).context()), _NoRedirection()]
        if is_loopback(urlsplit(issuer).hostname or ""):
            handlers.append(ProxyHandler({}))
        self._opener = build_opener(*handlers)

    def get(self, url: str) -> bytes:
        return self._read(Request(url, headers={"Accept": "application/json"}))

    def get_json(self, url: str) -> Mapping[str, Any]:
        return self._object(self.get(url))

    def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Mapping[str, Any]:
        """Send a form and return the response. Raises ProviderRefused if it is an OAuth error."""
        request = Request(url, urlencode(form).encode(), {"Accept": "application/json", **headers})
        return self._object(self._read(request))

    def _object(self, data: bytes) -> Mapping[str, Any]:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProviderUnavailable(f"{self._issuer} did not respond with a JSON object")
        return found

    def _read(self, request: Request) -> bytes:
        deadline = time.monotonic() + TIMEOUT
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                return self._bounded(response, deadline)
        except HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__
            raise ProviderUnavailable(f"{self._issuer} cannot be reached: {why}") from None

    def _bounded(self, response: Any, deadline: float) -> bytes:
        data = bytearray()
        while part := response.read1(1 << 16):
            data += part
            if len(data) > MAX_BYTES:
                raise ProviderUnavailable(f"{self._issuer} responded with more than {MAX_BYTES} bytes")
            if time.monotonic() > deadline:
                raise ProviderUnavailable(f"{self._issuer} did not respond within {TIMEOUT:.0f} s")
        return bytes(data)

    def _refusal(self, error: HTTPError) -> LoginRefused:
        with error:
            code = error_code(error)
        if error.code < 500 and code is not None:
            return ProviderRefused(f"{self._issuer} refused the request: {code}", code)
        return ProviderUnavailable(f"{self._issuer} responded with HTTP {error.code}")


def error_code(file: IO[bytes]) -> str | None:
    """The `error` of RFC 6749 5.2, if the body has one."""
    try:
        found = json.loads(file.read(1 << 16))
    except (ValueError, OSError, RecursionError):
        return None
    code = found.get("error") if isinstance(found, dict) else None
    return shown_code(code) if isinstance(code, str) else None


def shown_code(code: str) -> str | None:
    """The error code for display, if it has a valid form."""
    return code if _CODE.fullmatch(code) else None
