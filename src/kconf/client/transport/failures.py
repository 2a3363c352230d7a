"""Messages for connections that cannot be opened."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Final, TypeVar

from kconf.client.settings import Address, SecuritySettings
from kconf.errors import ConnectionFailed, ProtocolError

T = TypeVar("T")

SILENT_AFTER: Final = 3.0  # seconds without a response before a log message
_CLOSED: Final = "it closed the connection, as a listener without TLS does"
_NO_TLS: Final = {
    "UNEXPECTED_EOF_WHILE_READING": _CLOSED,
    "WRONG_VERSION_NUMBER": "its response is not TLS",
    "RECORD_LAYER_FAILURE": "its response is not TLS",
}


class SilentPeer(TimeoutError):
    """The peer accepted the connection but did not respond before the deadline."""


def wait_for_peer(sock: socket.socket, limit: float, step: Callable[[], T], address: Address) -> T:
    """Run a blocking step until `limit`. Logs a message if the peer does not respond for a while."""
    now = time.monotonic()
    first = min(limit, now + SILENT_AFTER)
    sock.settimeout(max(first - now, 0.001))
    try:
        return step()
    except TimeoutError:
        if first >= limit:
            raise
    warn_of_silence(address)
    sock.settimeout(max(limit - time.monotonic(), 0.001))
    return step()


def warn_of_silence(address: Address) -> None:
    import logging  # a local import, needed only here

    logging.getLogger(__name__).warning("still waiting for a response from %s; is it Kafka?", address)


def is_tls_error(error: BaseException | None) -> bool:
    """Whether an error comes from the ssl module, without importing it."""
    return error is not None and any(each.__module__ == "ssl" for each in type(error).__mro__)


def reason(error: Exception) -> str:
    """The operating system's message for an error."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, UnicodeError):
        return "the host name is invalid"
    if not isinstance(error, OSError):
        return f"{type(error).__name__}: {error}"
    if is_tls_error(error):
        word = str(getattr(error, "reason", None) or error)  # its errno is not one of the operating system's
        return _NO_TLS.get(word, word)
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio replaces the message
    return error.strerror or str(error)


def connect_reason(error: Exception, security: SecuritySettings) -> str:
    """Why a connection failed, in TCP or in the TLS handshake."""
    if security.tls is not None and isinstance(error, ConnectionResetError | ConnectionAbortedError):
        return _CLOSED
    return reason(error)


def not_kafka(address: Address, error: ProtocolError) -> ConnectionFailed:
    """The peer is not Kafka, or uses another protocol than this client."""
    failure = ConnectionFailed(f"{address}: {error}")
    failure.final = True
    return failure


def disconnect_hint(security: SecuritySettings) -> str:
    """A hint for the case that a broker closes a new connection without a response."""
    if security.tls is None:
        return " (does this listener expect TLS, or is it not Kafka?)"
    return " (does it require a client certificate?)" if security.tls.certificate is None else ""
