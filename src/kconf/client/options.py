"""What both clients take at their start, as settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kconf.client.settings import Settings, addresses
from kconf.errors import ConfigurationError


def client_settings(bootstrap: str | Iterable[str], controllers: str | Iterable[str], **more: Any) -> Settings:
    """Brokers or controllers to begin with, but not both."""
    brokers, quorum = addresses(bootstrap), addresses(controllers)
    if bool(brokers) == bool(quorum):
        raise ConfigurationError("a client needs bootstrap brokers or bootstrap_controllers, one of the two")
    settings = Settings(brokers or quorum, bool(quorum), **more)
    if min(settings.batch, settings.in_flight, settings.connect_attempts) < 1:
        raise ConfigurationError("batch, in_flight and connect_attempts must be at least 1")
    return settings


def milliseconds(settings: Settings, timeout: float | None) -> int:
    """How long the controller may take for a request: no longer than we wait."""
    seconds = min(settings.request_timeout, settings.timeout if timeout is None else timeout)
    return max(1, min(int(seconds * 1000), 2**31 - 1))


def jitter() -> float:
    from random import random  # only a client that has to wait pays for it

    return random()
