"""Read-your-writes across servers: the revision of a client's last change, and which servers have reached it.

A kconf server returns its revision with every change. Later requests to other servers include that revision and wait
there until it is reached. Other requests are unchanged.
"""

from __future__ import annotations

from typing import Any, Final

from kconf.client.calls.base import Call, NodeVersions

_CHANGING: Final = frozenset(
    {
        *("CreateTopics", "DeleteTopics", "CreatePartitions"),
        *("AlterConfigs", "IncrementalAlterConfigs", "AlterClientQuotas", "AlterQuotas"),
        *("AlterUserScramCredentials", "CreateAcls", "DeleteAcls"),
    }
)


class ClientRevision:
    """The minimum revision for the next responses. Shared by all connections of a client."""

    __slots__ = ("required",)

    def __init__(self) -> None:
        self.required = 0


class ConnectionRevision:
    """The revision that the server of one connection has reached."""

    __slots__ = ("_client", "_reached")

    def __init__(self, client: ClientRevision) -> None:
        self._client = client
        self._reached = 0

    def required_by(self, call: Call[Any, Any, Any], node: NodeVersions) -> int:
        """The revision to include in a request: -1 for none, 0 for no minimum but a response with the revision."""
        if not node.is_kconf:
            return -1
        if self._client.required > self._reached:
            return self._client.required
        return 0 if call.name in _CHANGING else -1

    def answered(self, call: Call[Any, Any, Any], revision: int) -> None:
        self._reached = max(self._reached, revision)
        if call.name in _CHANGING:
            self._client.required = max(self._client.required, revision)
