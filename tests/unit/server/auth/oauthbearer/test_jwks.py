"""The provider's keys: from a file or HTTPS, limited in size, refreshed, and kept if the provider is unreachable."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kconf.server.auth.oauthbearer import jwks
from kconf.server.auth.oauthbearer.jwks import JwksSource, JwksUnavailable, fetch_jwks
from kconf.server.auth.oauthbearer.settings import JwksSettings
from tests.support.token_server import SigningKey, key_set
from tests.unit.client.certificates import Certificates

ONE, TWO = SigningKey("one", "ES256"), SigningKey("two", "ES256")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def url(certificates: Certificates) -> Iterator[str]:
    """Paths: /keys, /long, /gone, /moved (to /keys), /http (to an http URL)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.store("broker"))

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            moved = {"/moved": "/keys", "/http": "http://127.0.0.1:1/keys"}.get(self.path)
            self.send_response(404 if self.path == "/gone" else 302 if moved else 200)
            if moved:
                self.send_header("Location", moved)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(b" " * (jwks.MAX_BYTES + 1) if self.path == "/long" else key_set(ONE).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()


def settings(url: str, certificates: Certificates | None = None, *, refresh: float = 3600.0) -> JwksSettings:
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates.ca)} if certificates else {}
    return JwksSettings(url, refresh, 0.001, 0.002, trust)


@pytest.mark.parametrize("path", ["/keys", "/moved"])
def test_keys_are_fetched_by_https(url: str, certificates: Certificates, path: str) -> None:
    assert json.loads(fetch_jwks(settings(url + path, certificates))) == json.loads(key_set(ONE))


@pytest.mark.parametrize(("path", "why"), [("/long", "more than"), ("/gone", "Not Found"), ("/http", "not https")])
def test_a_response_that_cannot_be_a_key_set_is_not_read(
    url: str, certificates: Certificates, path: str, why: str
) -> None:
    with pytest.raises(JwksUnavailable, match=why):
        fetch_jwks(settings(url + path, certificates))


def test_a_provider_must_have_a_trusted_certificate(url: str) -> None:
    with pytest.raises(JwksUnavailable, match=r"(?i)certificate"):
        fetch_jwks(settings(url + "/keys"))


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "the keys.json"
    file.write_text(key_set(ONE))

    assert fetch_jwks(settings(file.as_uri())).decode() == key_set(ONE)
    file.write_bytes(b" " * (jwks.MAX_BYTES + 1))
    for wrong in (file, tmp_path, tmp_path / "missing"):
        with pytest.raises(JwksUnavailable):
            fetch_jwks(settings(wrong.as_uri()))


class Provider:
    """A provider that has keys or is unreachable. `asked` is set by each request."""

    def __init__(self) -> None:
        self.keys: list[SigningKey] | None = [ONE]
        self.asked: asyncio.Queue[None] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()

    def __call__(self, _: JwksSettings) -> bytes:
        self.loop.call_soon_threadsafe(self.asked.put_nowait, None)
        if self.keys is None:
            raise JwksUnavailable("it is unreachable")
        return key_set(*self.keys).encode()


def ids(source: JwksSource) -> list[str | None]:
    return [each.key_id for each in source.keys]


async def _until(holds: object) -> None:
    while not holds():  # type: ignore[operator]
        await asyncio.sleep(0.001)


def test_keys_are_read_again_at_the_interval() -> None:
    async def scenario() -> None:
        provider = Provider()
        source = JwksSource(settings("file:///x", refresh=0.001), fetch=provider)
        assert await source.load()
        provider.keys = [TWO]
        task = asyncio.create_task(source.run(loaded=True))
        await asyncio.wait_for(_until(lambda: ids(source) == ["two"]), 20)
        task.cancel()

    asyncio.run(scenario())


def test_an_unreachable_provider_removes_no_key_and_is_retried() -> None:
    async def scenario() -> None:
        provider = Provider()
        source = JwksSource(settings("file:///x", refresh=0.001), fetch=provider)
        await source.load()
        provider.keys = None
        assert not await source.load()
        assert ids(source) == ["one"]
        task = asyncio.create_task(source.run(loaded=False))
        for _ in range(4):
            await asyncio.wait_for(provider.asked.get(), 20)
        assert ids(source) == ["one"]
        provider.keys = [TWO]
        await asyncio.wait_for(_until(lambda: ids(source) == ["two"]), 20)
        task.cancel()

    asyncio.run(scenario())


def test_unknown_keys_cause_one_fetch_in_ten_seconds() -> None:
    async def scenario() -> None:
        provider, now = Provider(), [0.0]
        source = JwksSource(settings("file:///x"), fetch=provider, now=lambda: now[0])
        await source.load()
        provider.asked.get_nowait()
        task = asyncio.create_task(source.run(loaded=True))
        provider.keys = [ONE, TWO]
        for time in (1.0, 2.0, 10.9):
            now[0] = time
            source.request_refresh()
        await asyncio.wait_for(_until(lambda: ids(source) == ["one", "two"]), 20)
        assert provider.asked.qsize() == 1

        source.request_refresh()
        assert not source._wanted.is_set()
        now[0] = 11.0
        source.request_refresh()
        await asyncio.wait_for(_until(lambda: provider.asked.qsize() == 2), 20)
        task.cancel()

    asyncio.run(scenario())


def test_a_hanging_fetch_does_not_block_the_loop_and_can_be_cancelled() -> None:
    release = threading.Event()

    async def scenario() -> None:
        source = JwksSource(settings("file:///x"), fetch=lambda _: str(release.wait(60)).encode())
        task = asyncio.create_task(source.load())
        await asyncio.sleep(0)  # the loop continues
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    release.set()
