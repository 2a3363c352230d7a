"""Reads the public keys of an OIDC provider (JSON Web Key Set, RFC 7517) at an interval and when a key is missing.

Keys are fetched in a thread, over https or from a file, with limits on time and size. If a fetch fails, the previous
keys remain valid, and it is retried with increasing delays. A token with an unknown key id triggers an immediate fetch,
at most every ten seconds, so the next login finds the new key, as in Kafka.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from logging import getLogger
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener, url2pathname

from kconf.errors import ConfigurationError
from kconf.security.keystores import trusted
from kconf.security.tls import Tls
from kconf.server.auth.oauthbearer.settings import JwksSettings

log = getLogger(__name__)

MAX_BYTES: Final = 1 << 20
TIMEOUT: Final = 10.0  # seconds for a whole fetch
MIN_RSA_BITS: Final = 2048  # RFC 7518 3.3
_EXPEDITED_INTERVAL: Final = 10.0  # minimum seconds between fetches for unknown key ids
_TYPES: Final = ("RSA", "EC", "OKP")  # never oct: a published value must not be used as an HMAC secret


class JwksUnavailable(Exception):
    """The keys could not be read. The message contains no part of the response."""


class VerificationKey(NamedTuple):
    """A key that verifies signatures. `algorithm` None: any algorithm that fits the key type and its curve."""

    key_id: str | None
    type: str
    curve: str | None
    algorithm: str | None
    key: Any


class JwksSource:
    """The current keys. `run` refreshes them; logins call `request_refresh`."""

    def __init__(
        self,
        settings: JwksSettings,
        *,
        fetch: Callable[[JwksSettings], bytes] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys: tuple[VerificationKey, ...] = ()
        self._settings, self._fetch, self._now = settings, fetch or fetch_jwks, now
        self._wanted = asyncio.Event()
        self._expedited: float | None = None

    async def load(self) -> bool:
        """Read the keys once. Returns whether it succeeded."""
        try:
            self.keys = parse_keys(await _in_thread(lambda: self._fetch(self._settings)))
        except JwksUnavailable as error:
            log.error("could not read the keys of %s: %s", self._settings.url, error)
            return False
        log.info("read %d keys from %s", len(self.keys), self._settings.url)
        return True

    async def run(self, *, loaded: bool) -> None:
        """Refresh the keys until cancelled."""
        pause = self._settings.backoff
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), self._settings.refresh if loaded else pause)
            self._wanted.clear()
            pause = self._settings.backoff if loaded else min(2 * pause, self._settings.max_backoff)
            loaded = await self.load()

    def request_refresh(self) -> None:
        """Fetch the keys soon: a token has an unknown key id, and the provider may have a new key."""
        now = self._now()
        if self._expedited is None or now - self._expedited >= _EXPEDITED_INTERVAL:
            self._expedited = now
            self._wanted.set()


def parse_keys(data: bytes) -> tuple[VerificationKey, ...]:
    """The keys of a key set that can verify signatures; other keys are skipped. Raises JwksUnavailable."""
    try:
        listed = json.loads(data)["keys"]
        found = [key for each in listed if (key := _read_key(each)) is not None]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise JwksUnavailable("the content is not a JSON Web Key Set") from None
    if not found:
        raise JwksUnavailable("the key set has no key that can verify signatures")
    return tuple(found)


def _read_key(given: dict[str, Any]) -> VerificationKey | None:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from jwt import PyJWK, PyJWTError

    operations = given.get("key_ops")
    verifies = given.get("use", "sig") == "sig" and (operations is None or "verify" in operations)
    if given.get("kty") not in _TYPES or not verifies:
        return None
    texts = {name: given.get(name) for name in ("kid", "kty", "crv", "alg")}
    if any(text is not None and not isinstance(text, str) for text in texts.values()):
        return None
    try:
        key: Any = PyJWK(given).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        log.warning("skipped the key with id %r: it cannot be read", texts["kid"])
        return None
    if hasattr(key, "public_key"):
        key = key.public_key()
    if isinstance(key, RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        log.warning("skipped the key with id %r: an RSA key of %d bits is too short", texts["kid"], key.key_size)
        return None
    return VerificationKey(texts["kid"], str(texts["kty"]), texts["crv"], texts["alg"], key)


def fetch_jwks(settings: JwksSettings) -> bytes:
    """Read the key set. Blocks. Raises JwksUnavailable."""
    parts = urlsplit(settings.url)
    try:
        return _read_file(Path(url2pathname(parts.path))) if parts.scheme == "file" else _download(settings)
    except ConfigurationError as error:  # the trust store
        raise JwksUnavailable(str(error)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise JwksUnavailable(str(why)) from None


def _read_file(path: Path) -> bytes:
    if not path.is_file():
        raise JwksUnavailable("there is no file at this path")
    with path.open("rb") as file:
        return _bounded(file.read(MAX_BYTES + 1))


def _download(settings: JwksSettings) -> bytes:
    deadline = time.monotonic() + TIMEOUT
    context = Tls(ca=trusted(settings.trust)).context()
    request = Request(settings.url, headers={"Accept": "application/json"})
    opener = build_opener(HTTPSHandler(context=context), _HttpsOnly())
    data = bytearray()
    with opener.open(request, timeout=TIMEOUT) as response:
        while part := response.read1(1 << 16):
            data += part
            if len(data) > MAX_BYTES:
                break
            if time.monotonic() > deadline:
                raise JwksUnavailable(f"the key set did not arrive within {TIMEOUT:.0f} s")
    return _bounded(bytes(data))


class _HttpsOnly(HTTPRedirectHandler):
    """Refuses redirects to URLs that are not https."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        if urlsplit(newurl).scheme != "https":
            raise JwksUnavailable("the provider redirects to a URL that is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise JwksUnavailable(f"the key set has more than {MAX_BYTES} bytes")
    return data


async def _in_thread(work: Callable[[], bytes]) -> bytes:
    """Run in a daemon thread, so that a shutdown does not wait for a provider that does not respond."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()

    def finish(data: bytes | None, error: JwksUnavailable | None) -> None:
        if result.cancelled():
            return
        if data is None:
            result.set_exception(error or JwksUnavailable("it could not be read"))
        else:
            result.set_result(data)

    def run() -> None:
        data, error = None, None
        try:
            data = work()
        except JwksUnavailable as known:
            error = known
        except Exception as unknown:  # the waiting task must get a result
            error = JwksUnavailable(type(unknown).__name__)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, data, error)

    threading.Thread(target=run, name="jwks", daemon=True).start()
    return await result
