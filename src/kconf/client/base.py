"""What both clients take at their start, as settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from kconf.client.settings import ClientSettings, addresses
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from kconf.client.auth.sasl import Sasl
    from kconf.client.journal.recorder import Journal
    from kconf.security.tls import Tls


class BaseAdminClient(ABC):
    """What an AdminClient is made from, of either kind."""

    def __init__(
        self,
        bootstrap: str | Iterable[str] = (),
        *,
        bootstrap_controllers: str | Iterable[str] = (),
        client_id: str = "kconf",
        timeout: float = 60.0,
        request_timeout: float = 30.0,
        connect_timeout: float = 10.0,
        connect_attempts: int = 3,
        backoff: float = 0.1,
        backoff_max: float = 1.0,
        batch: int = 250,
        in_flight: int = 4,
        tls: Tls | None = None,
        sasl: Sasl | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._settings = client_settings(
            bootstrap,
            bootstrap_controllers,
            client_id=client_id,
            timeout=timeout,
            request_timeout=request_timeout,
            connect_timeout=connect_timeout,
            connect_attempts=connect_attempts,
            backoff=backoff,
            backoff_max=backoff_max,
            batch=batch,
            in_flight=in_flight,
            tls=tls,
            sasl=sasl,
        )
        self._journal = journal
        self._start()

    @classmethod
    def from_properties(
        cls,
        properties: str | PathLike[str] | Mapping[str, str],
        bootstrap: str | Iterable[str] = (),
        *,
        bootstrap_controllers: str | Iterable[str] = (),
        journal: Journal | None = None,
    ) -> Self:
        """A client as a Java properties file tells it, or a mapping with the same keys."""
        from kconf.client.properties import settings_from

        client = cls.__new__(cls)
        client._settings = settings_from(properties, bootstrap, bootstrap_controllers)
        client._journal = journal
        client._start()
        return client

    @abstractmethod
    def _start(self) -> None:
        """Make what the client works with; nothing is connected yet."""

    @property
    def settings(self) -> ClientSettings:
        return self._settings


def client_settings(bootstrap: str | Iterable[str], controllers: str | Iterable[str], **more: Any) -> ClientSettings:
    """Brokers or controllers to begin with, but not both."""
    brokers, quorum = addresses(bootstrap), addresses(controllers)
    if bool(brokers) == bool(quorum):
        raise ConfigurationError("a client needs bootstrap brokers or bootstrap_controllers, one of the two")
    settings = ClientSettings(brokers or quorum, bool(quorum), **more)
    if min(settings.batch, settings.in_flight, settings.connect_attempts) < 1:
        raise ConfigurationError("batch, in_flight and connect_attempts must be at least 1")
    return settings


def milliseconds(settings: ClientSettings, timeout: float | None) -> int:
    """How long the controller may take for a request: no longer than we wait."""
    seconds = min(settings.request_timeout, settings.timeout if timeout is None else timeout)
    return max(1, min(int(seconds * 1000), 2**31 - 1))


def jitter() -> float:
    from random import random  # only a client that has to wait pays for it

    return random()
