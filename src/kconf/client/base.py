"""The common base of AdminClient and SyncAdminClient: their constructor and settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from kconf.client.retries import RetryPolicy
from kconf.client.settings import Bootstrap, ClientSettings, RequestLimits, SecuritySettings, Timeouts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from kconf.client.auth.sasl import Sasl
    from kconf.client.journal.base import Journal
    from kconf.client.transport.revisions import ClientRevision
    from kconf.security.tls import Tls


class BaseAdminClient(ABC):
    """Has `settings`, and a journal if changes are recorded."""

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
        settings = ClientSettings(
            Bootstrap.parse(bootstrap, bootstrap_controllers),
            client_id,
            Timeouts(timeout, request_timeout, connect_timeout),
            RetryPolicy(connect_attempts, backoff, backoff_max),
            RequestLimits(batch, in_flight),
            SecuritySettings(tls, sasl),
        )
        self._set_up(settings, journal)

    @classmethod
    def _from_settings(cls, settings: ClientSettings, journal: Journal | None = None) -> Self:
        client = cls.__new__(cls)
        client._set_up(settings, journal)
        return client

    @classmethod
    def from_properties(
        cls,
        properties: str | PathLike[str] | Mapping[str, str],
        bootstrap: str | Iterable[str] = (),
        *,
        bootstrap_controllers: str | Iterable[str] = (),
        sasl: Sasl | None = None,
        journal: Journal | None = None,
    ) -> Self:
        """Create a client from Java client properties: a file, or a mapping with the same keys.

        `sasl` replaces the login in the properties, for logins that properties cannot express.
        """
        from kconf.client.properties import settings_from_properties

        settings = settings_from_properties(properties, bootstrap, bootstrap_controllers, sasl)
        return cls._from_settings(settings, journal)

    def _set_up(self, settings: ClientSettings, journal: Journal | None) -> None:
        settings.validate()
        self._settings, self._journal = settings, journal
        self._create_pool()

    @abstractmethod
    def _create_pool(self) -> None:
        """Create the connection pool, without connecting."""

    @property
    def settings(self) -> ClientSettings:
        return self._settings

    @property
    @abstractmethod
    def _revision(self) -> ClientRevision: ...

    @property
    def required_revision(self) -> int:
        """The revision of this client's last change, which a kconf server must have reached before it answers.

        Set it to the value of another client to read the other client's changes on every server.
        """
        return self._revision.required

    @required_revision.setter
    def required_revision(self, revision: int) -> None:
        self._revision.required = revision
