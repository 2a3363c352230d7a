"""The public keys of a provider, as a JSON Web Key Set (RFC 7517), read again at an interval and when one is missing.

They are fetched in a thread, by https or from a file, bounded in time and size. If that fails, the keys that were read
before stay in force, and it is tried again after a growing pause. A token with an unknown key id makes the server fetch
at once, at most every ten seconds: the next login finds the new key, as in Kafka.
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
TIMEOUT: Final = 10.0  # seconds, for all of a fetch
MIN_RSA_BITS: Final = 2048  # RFC 7518 3.3
_EXPEDITED_INTERVAL: Final = 10.0  # seconds between two fetches that unknown key ids cause
_TYPES: Final = ("RSA", "EC", "OKP")  # never oct: a public text must not become a secret of HMAC


class JwksUnavailable(Exception):
    """The keys could not be read. The message contains nothing of what was read."""


class VerificationKey(NamedTuple):
    """`algorithm` None: any that fits the type of the key and its curve."""

    key_id: str | None
    type: str
    curve: str | None
    algorithm: str | None
    key: Any


class JwksSource:
    """The keys that are in force. `run` keeps them fresh; `request_refresh` is called by logins."""

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
        """Read the keys once; whether that succeeded."""
        try:
            self.keys = parse_keys(await _in_thread(lambda: self._fetch(self._settings)))
        except JwksUnavailable as error:
            log.error("the keys of %s could not be read: %s", self._settings.url, error)
            return False
        log.info("read %d keys from %s", len(self.keys), self._settings.url)
        return True

    async def run(self, *, loaded: bool) -> None:
        """Keep the keys fresh, until cancelled."""
        pause = self._settings.backoff
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), self._settings.refresh if loaded else pause)
            self._wanted.clear()
            pause = self._settings.backoff if loaded else min(2 * pause, self._settings.max_backoff)
            loaded = await self.load()

    def request_refresh(self) -> None:
        """A token names a key that is not there: perhaps the provider has a new one."""
        now = self._now()
        if self._expedited is None or now - self._expedited >= _EXPEDITED_INTERVAL:
            self._expedited = now
            self._wanted.set()


def parse_keys(data: bytes) -> tuple[VerificationKey, ...]:
    """The keys of a key set that can verify signatures; others are skipped. Raises JwksUnavailable."""
    try:
        listed = json.loads(data)["keys"]
        found = [key for each in listed if (key := _read_key(each)) is not None]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise JwksUnavailable("it is not a JSON Web Key Set") from None
    if not found:
        raise JwksUnavailable("it has no key that verifies signatures")
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
        log.warning("skipped a key that cannot be read, with the id %r", texts["kid"])
        return None
    if hasattr(key, "public_key"):
        key = key.public_key()
    if isinstance(key, RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        log.warning("skipped a key of %d bits, with the id %r", key.key_size, texts["kid"])
        return None
    return VerificationKey(texts["kid"], str(texts["kty"]), texts["crv"], texts["alg"], key)


def fetch_jwks(settings: JwksSettings) -> bytes:
    """Read the key set. Blocks; raises JwksUnavailable."""
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
        raise JwksUnavailable("it is not a file")
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
                raise JwksUnavailable(f"it did not arrive within {TIMEOUT:.0f} s")
    return _bounded(bytes(data))


class _HttpsOnly(HTTPRedirectHandler):
    """A redirection leads nowhere but to https."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        if urlsplit(newurl).scheme != "https":
            raise JwksUnavailable("it was redirected to a URL that is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise JwksUnavailable(f"it has more than {MAX_BYTES} bytes")
    return data


async def _in_thread(work: Callable[[], bytes]) -> bytes:
    """In a daemon thread: a server that stops does not wait for a provider that does not answer."""
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
        except Exception as unknown:  # must not leave the waiting task without an answer
            error = JwksUnavailable(type(unknown).__name__)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, data, error)

    threading.Thread(target=run, name="jwks", daemon=True).start()
    return await result
