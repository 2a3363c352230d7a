"""TLS contexts that are replaced while the server runs: `listener.name.<listener>.ssl.*` of this broker.

A change with which the listener could not do TLS is refused before it is committed; a committed change, and a value
that is set again, makes the listener read its stores again. Open connections keep what they have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from logging import getLogger
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError, InvalidRequest
from kconf.model.journal import Revision
from kconf.model.resource import Overrides, Resource
from kconf.server.listener_config import EndPoint

if TYPE_CHECKING:
    from kconf.server.auth.tls_alerts import AlertingSslContext

log = getLogger(__name__)


class ListenerTls:
    """The TLS context of one listener, for new connections."""

    def __init__(self, endpoint: EndPoint, effective: Callable[[], Mapping[str, str]]) -> None:
        self.endpoint = endpoint
        self._effective = effective
        self.context = self._new_context(effective())

    def reload(self) -> None:
        """Use the certificates that are configured now."""
        self.context = self._new_context(self._effective())
        log.info("listener %s has new certificates", self.endpoint)

    def check(self, would_be: Mapping[str, str]) -> None:
        """Refuse settings with which the listener could not do TLS, or would have another identity."""
        from kconf.server.auth.tls_context import check_same_identity

        new = self._new_context(would_be)
        check_same_identity(self.context.identity, new.identity, self.endpoint, would_be)

    def _new_context(self, effective: Mapping[str, str]) -> AlertingSslContext:
        from kconf.server.auth.tls_context import server_context

        return server_context(self.endpoint, effective)


class CertificateReloader:
    """Reloads the TLS contexts of listeners whose settings change."""

    def __init__(self, node_id: int) -> None:
        self._broker = Resource.broker(node_id)
        self._contexts: list[ListenerTls] = []

    def add(self, tls: ListenerTls) -> None:
        self._contexts.append(tls)

    def check(self, would_be: Overrides, keys: Collection[str]) -> None:
        """Refuse a change of these keys that a listener could not use."""
        for tls in self._affected(keys):
            try:
                tls.check(would_be)
            except ConfigurationError as error:
                raise InvalidRequest(str(error)) from None

    def on_commit(self, revisions: Sequence[Revision]) -> None:
        changes = (change for revision in revisions for change in revision.changes)
        self.keys_set({change.key for change in changes if change.resource == self._broker})

    def keys_set(self, keys: Collection[str]) -> None:
        """These keys were set, to new values or to the same ones."""
        for tls in self._affected(keys):
            try:
                tls.reload()
            except (ConfigurationError, OSError) as error:
                log.error("listener %s keeps its old certificates: %s", tls.endpoint, error)

    def _affected(self, keys: Collection[str]) -> list[ListenerTls]:
        if not self._contexts:
            return []
        return [each for each in self._contexts if any(key.startswith(each.endpoint.prefixed("ssl.")) for key in keys)]
