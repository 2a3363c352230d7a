"""Reading one's own writes on every server: the revision that a client's last change led to, and who has reached it.

A kconf server answers a change with the revision that it has reached. Later requests on connections to servers that are
not known to have reached it name it, and wait there. Requests on other connections are not different from before.
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
    """The revision that the next answers must have seen. Shared by all connections of a client."""

    __slots__ = ("required",)

    def __init__(self) -> None:
        self.required = 0


class ConnectionRevision:
    """What one connection knows: up to which revision its server has answered."""

    __slots__ = ("_client", "_reached")

    def __init__(self, client: ClientRevision) -> None:
        self._client = client
        self._reached = 0

    def required_by(self, call: Call[Any, Any, Any], node: NodeVersions) -> int:
        """What a request names: -1 nothing, 0 no revision but an answer with one."""
        if not node.is_kconf:
            return -1
        if self._client.required > self._reached:
            return self._client.required
        return 0 if call.name in _CHANGING else -1

    def answered(self, call: Call[Any, Any, Any], revision: int) -> None:
        self._reached = max(self._reached, revision)
        if call.name in _CHANGING:
            self._client.required = max(self._client.required, revision)
