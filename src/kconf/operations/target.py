"""The target cluster of an operation, and how to open a client for it.

It opens no connection and reads no secret before `open`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kconf.client.contexts.context import Context
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.client.auth.sasl import Sasl
    from kconf.client.journal.files import ClientJournal


class UserCredential(NamedTuple):
    """A person's SASL credential."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"UserCredential({self.user!r})"


class TokenCredential(NamedTuple):
    """A person who is logged in with an OIDC provider. `token` returns an access token that is valid now."""

    user: str
    token: Callable[[], str]

    def __repr__(self) -> str:
        return f"TokenCredential({self.user!r})"


Credential = UserCredential | TokenCredential


class Target(NamedTuple):
    """A context and the options that override it. `name` is the name of the context, or the address of the cluster.

    With a `credential`, the client logs in with it instead of the context's own credential.
    """

    context: Context
    command_config: str | None = None
    timeout: float | None = None
    reason: str | None = None
    credential: Credential | None = None

    @property
    def name(self) -> str:
        return self.context.name or self.context.bootstrap

    def open(self) -> SyncAdminClient:
        """A client; use it in a `with` block."""
        from kconf.client.admin_sync import SyncAdminClient

        return SyncAdminClient.from_properties(*self._client(), sasl=self._sasl(), journal=self._journal())

    def open_async(self) -> AdminClient:
        """A client for an event loop; use it in an `async with` block."""
        from kconf.client.admin import AdminClient

        return AdminClient.from_properties(*self._client(), sasl=self._sasl())

    @property
    def has_controllers(self) -> bool:
        return bool(self.context.controllers)

    def open_controllers(self) -> SyncAdminClient:
        """A client for the controllers of the cluster, which follows its metadata log; use it in a `with` block."""
        from kconf.client.admin_sync import SyncAdminClient

        properties, addresses = self._controllers()
        return SyncAdminClient.from_properties(properties, bootstrap_controllers=addresses)

    def open_controllers_async(self) -> AdminClient:
        """Like `open_controllers`, for an event loop; use it in an `async with` block."""
        from kconf.client.admin import AdminClient

        properties, addresses = self._controllers()
        return AdminClient.from_properties(properties, bootstrap_controllers=addresses)

    def _controllers(self) -> tuple[dict[str, str], str]:
        from kconf.client.contexts.config_providers import controller_properties, controllers

        if not self.has_controllers:
            raise ConfigurationError(f"{self.name} has no controllers to follow; pass --controllers HOST:PORT,…")
        return controller_properties(self.context), controllers(self.context)

    def _client(self) -> tuple[dict[str, str], str]:
        """The properties of a client, and its bootstrap servers."""
        from kconf.client.contexts.config_providers import (
            bootstrap,
            client_properties,
            token_properties,
            user_properties,
        )

        match self.credential:
            case None:
                properties = client_properties(self.context)
            case UserCredential():
                properties = user_properties(self.context, *self.credential)
            case TokenCredential():
                properties = token_properties(self.context)
        if self.command_config is not None:
            from kconf.client.properties import read_file

            properties.update(read_file(self.command_config))
        if self.timeout is not None:
            properties["default.api.timeout.ms"] = str(max(1, int(self.timeout * 1000)))
        return properties, bootstrap(self.context)

    def _sasl(self) -> Sasl | None:
        """The login of a person with tokens; None: what the properties say."""
        if not isinstance(self.credential, TokenCredential):
            return None
        from kconf.client.auth.sasl import OAuthBearer

        return OAuthBearer(self.credential.token)

    def _journal(self) -> ClientJournal | None:
        """The journal of this client's changes, for clusters without their own journal."""
        directory = self.context.journal
        if directory is None:
            return None
        if "://" in directory:
            raise ConfigurationError(f"the journal of {self.name} must be a directory, not {directory}")
        from kconf.client.journal.files import ClientJournal

        return ClientJournal(directory, reason=self.reason)

    def check_writable(self) -> None:
        """Raise an error if the context is read-only, before any connection is opened."""
        if self.context.read_only:
            raise ConfigurationError(f"context {self.context.name!r} is read-only; nothing was sent")
