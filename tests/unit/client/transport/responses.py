"""Response frames for tests of a connection without its socket."""

from __future__ import annotations

from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import encode
from kconf.protocol.headers import response


def frame(name: str, version: int, correlation: int, body: object) -> bytes:
    """A response frame without its length."""
    api = BY_NAME[name]
    return response(api, version, correlation, encode(body, version, api.is_flexible(version)))[4:]
