"""Asks each node on each new connection whether it has an authorizer, if a gateway has no settings for one.

The node would authorize the gateway's account, so every client of the gateway would have its rights. A node gets an
authorizer only by a restart, which closes its connections, so no request reaches it before this check. After the first
such node is found, no connection is used anymore.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Final

from kconf.client.calls.acls import NO_ACL, DescribeAcls
from kconf.client.calls.base import NodeVersions
from kconf.client.transport.versions import choose_version
from kconf.errors import ErrorCode, NotAuthorized, UnsupportedVersion
from kconf.protocol.headers import read_response, request

_CORRELATION: Final = 2  # as in the handshake
_REFUSAL: Final = (
    "the cluster now has an authorizer, and this gateway has no settings for it, so the gateway stops; the request was "
    "not sent"
)


class AuthorizerCheck:
    """Checks new connections to brokers and controllers, from any thread. Refuses none before `enforce`."""

    def __init__(self) -> None:
        self.has_found = False  # a node with an authorizer
        self._on_found: Callable[[], None] | None = None

    def enforce(self, on_found: Callable[[], None]) -> None:
        """Use no connection anymore if a node has an authorizer, and call `on_found`, from any thread."""
        self._on_found = on_found

    @property
    def has_failed(self) -> bool:
        return self.has_found and self._on_found is not None

    def requests(self, client_id: str, versions: Mapping[int, tuple[int, int]]) -> Generator[bytes, bytes, None]:
        if not self.has_found and (yield from _has_authorizer(client_id, NodeVersions("", versions))):
            self.has_found = True
            if self._on_found is not None:
                self._on_found()
        if self.has_failed:
            raise NotAuthorized(_REFUSAL)


def _has_authorizer(client_id: str, node: NodeVersions) -> Generator[bytes, bytes, bool]:
    try:
        call, version = choose_version(node, DescribeAcls(NO_ACL))
    except UnsupportedVersion:
        return True  # unknown
    response = yield request(call.api, version, _CORRELATION, client_id, call.write(node, version, call.items))
    return bool(read_response(call.api, version, response)[1].error_code != ErrorCode.SECURITY_DISABLED)
