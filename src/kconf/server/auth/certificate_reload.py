"""Certificates that change while the server runs: `listener.name.<listener>.ssl.*` of this broker.

A change that could not be used is refused before it is made; one that is made, and a value that is set again, makes the
listener read its stores anew. Connections that are there stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from logging import getLogger
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError, InvalidRequest
from kconf.model.journal import Revision
from kconf.model.resource import Overrides, Resource

if TYPE_CHECKING:
    from kconf.server.network.listener import Listener

log = getLogger(__name__)


class CertificateReloader:
    """The doors with TLS, and what their settings would do to them."""

    def __init__(self, node_id: int) -> None:
        self._here = Resource.broker(node_id)
        self._doors: list[Listener] = []

    def add(self, door: Listener) -> None:
        if door.listener.protocol.tls:
            self._doors.append(door)

    def check(self, would_be: Overrides, keys: Collection[str]) -> None:
        """Refuse settings with which a listener could not shake hands, or would be someone else."""
        from kconf.server.auth.tls_context import check_same_identity, server_context

        for door in self._meant(keys):
            try:
                new = server_context(door.listener, would_be)
                if door.context is not None:
                    check_same_identity(door.context.identity, new.identity, door.listener, would_be)
            except ConfigurationError as error:
                raise InvalidRequest(str(error)) from None

    def follow(self, revisions: Sequence[Revision]) -> None:
        changes = (change for revision in revisions for change in revision.changes)
        self.touched({change.key for change in changes if change.resource == self._here})

    def touched(self, keys: Collection[str]) -> None:
        """These were set, to new values or to the same."""
        for door in self._meant(keys):
            try:
                door.renew()
            except (ConfigurationError, OSError) as error:
                log.error("listener %s keeps its old certificates: %s", door.listener, error)

    def _meant(self, keys: Collection[str]) -> list[Listener]:
        if not self._doors:
            return []
        return [door for door in self._doors if any(key.startswith(door.listener.prefixed("ssl.")) for key in keys)]
