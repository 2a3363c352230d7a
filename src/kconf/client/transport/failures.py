"""Messages for connections that cannot be opened."""

from __future__ import annotations

import os

from kconf.client.settings import SecuritySettings


def is_tls_error(error: BaseException | None) -> bool:
    """Whether an error comes from the ssl module, without importing it."""
    return error is not None and any(each.__module__ == "ssl" for each in type(error).__mro__)


def reason(error: OSError) -> str:
    """The operating system's message for an error."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if is_tls_error(error):
        return str(getattr(error, "reason", None) or error)  # its errno is not one of the operating system's
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio replaces the message
    return error.strerror or str(error)


def disconnect_hint(security: SecuritySettings) -> str:
    """What may be wrong if a broker closes a new connection without a response."""
    if security.tls is None:
        return " (does this listener expect TLS, or is it not Kafka?)"
    return " (does it require a client certificate?)" if security.tls.certificate is None else ""
