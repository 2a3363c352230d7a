"""Finds connection limits that prevent this machine, or the brokers themselves, from connecting.

Kafka applies such a limit immediately, and a client that cannot connect cannot undo it.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kconf.configdef.lookup import known_key
from kconf.engine.risks import CONNECTION_OVERRIDES, Risk, RiskName, connection_limits
from kconf.errors import KafkaError
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.planned_change import PlannedChange

_PER_IP: Final = "max.connections.per.ip"
_FOR_ALL: Final = ("max.connections", "max.connection.creation.rate")


class LockoutRisks:
    def __init__(self, admin: SyncAdminClient, changes: Sequence[PlannedChange]) -> None:
        self._admin, self._changes = admin, changes

    def of(self, change: PlannedChange) -> list[Risk]:
        if change.resource.type is not ResourceType.BROKER or change.unchanged or change.new is None:
            return []
        key = known_key(ResourceType.BROKER, change.key)
        name = "" if key is None else key.name
        if name in _FOR_ALL and _is_zero(change.new):
            return [_risk("the brokers accept no new connections")]
        if name == _PER_IP and _is_zero(change.new):
            return self._without_override(change)
        if name == CONNECTION_OVERRIDES:
            shut = [host for host, count in connection_limits(change.new).items() if count == 0]
            before = connection_limits(change.old)
            why = [self._about(host) for host in shut if before.get(host) != 0]
            return [_risk("; ".join(filter(None, why)))] if any(why) else []
        return []

    def _without_override(self, change: PlannedChange) -> list[Risk]:
        """The risk that no address can connect, except those with their own limit."""
        overrides = next((each.new for each in self._changes if each.key == CONNECTION_OVERRIDES), None)
        if overrides is None:
            overrides = self._present_overrides(change)
        own = {address for host, count in connection_limits(overrides).items() if count for address in _addresses(host)}
        if self._ours() and self._ours() <= own:
            return []
        return [_risk("only addresses in max.connections.per.ip.overrides can connect")]

    def _present_overrides(self, change: PlannedChange) -> str | None:
        from kconf.operations.risks.inheritance import Inheritance

        key = known_key(ResourceType.BROKER, CONNECTION_OVERRIDES)
        described = self._admin.describe_configs(
            [change.resource], keys={change.resource: [CONNECTION_OVERRIDES]}, synonyms=True
        )
        if change.resource in described.failures:
            return None
        entry = next((each for each in described[change.resource].entries if each.name == CONNECTION_OVERRIDES), None)
        return Inheritance(self._admin).effective(change.resource, entry, key)

    def _about(self, host: str) -> str:
        """Why it matters that a host cannot connect; empty if it does not."""
        addresses = _addresses(host)
        if not addresses:
            return f"{host} could no longer connect, and it may be this machine"
        if addresses & self._ours() or any(ip_address(each).is_loopback for each in addresses):
            return f"{host} is this machine or a broker, and could no longer connect"
        if addresses & self._brokers():
            return f"{host} is a broker, and could no longer connect to the other brokers"
        return ""

    def _ours(self) -> set[str]:
        """The known addresses of this machine as brokers see it."""
        return {each for host, port in self._hosts() if (each := _local_address(host, port)) is not None}

    def _brokers(self) -> set[str]:
        return {address for host, _ in self._hosts() for address in _addresses(host)}

    def _hosts(self) -> list[tuple[str, int]]:
        with suppress(KafkaError):
            return [(each.host, each.port) for each in self._admin.describe_cluster().nodes.values()]
        return []


def _risk(why: str) -> Risk:
    return Risk(RiskName.LOCKOUT, why)


def _is_zero(value: str) -> bool:
    return value.strip() == "0"


def _addresses(host: str) -> set[str]:
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def _local_address(host: str, port: int) -> str | None:
    """The local address that packets to a host would have. Sends nothing."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as found:
            found.connect(address)
            return str(found.getsockname()[0])
    except (OSError, UnicodeError):
        return None
