"""The members of the cluster: kconf servers (ephemeral znodes under /kconf/servers) and brokers (/brokers/ids).

kconf does not register in /brokers/ids, because a controller would assign partitions to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from logging import getLogger
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

from kazoo.exceptions import NodeExistsError

from kconf.errors import ConfigurationError
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.notifications import DIRECTORIES
from kconf.store.zookeeper.session import TIMEOUT, ZookeeperSession

log = getLogger(__name__)

_ALL: Final = 1 << 62
_MAX_WAIT: Final = 2 * TIMEOUT  # the znode of a killed server exists until its session times out


class Membership:
    """Registers this server, and reads the other members."""

    def __init__(self, session: ZookeeperSession, on_change: Callable[[], None]) -> None:
        self.members = NO_MEMBERS
        self.is_stale = False
        self._session = session
        self._on_change = on_change
        self._own: ClusterMember | None = None
        self._published: Mapping[str, int] = {}

    def join(self, member: ClusterMember, passed: Mapping[str, int]) -> None:
        """Register this server. `passed` is as in `publish`. Raises ConfigurationError if the id is in use."""
        self._own, self._published = member, passed
        path, data = f"{paths.SERVERS}/{member.id}", _write_server(member, passed)
        for _ in range(2):
            try:
                self._session.create(path, data, ephemeral=True)
            except NodeExistsError:
                if self._session.owns(path):
                    break
                self._wait_deleted(path)
            else:
                self.refresh()
                return
        if not self._session.owns(path):
            raise ConfigurationError(
                f"another server with ID {member.id} uses this store; start each server with its own --node-id"
            )

    def _wait_deleted(self, path: str) -> None:
        deleted = Event()
        if self._session.get(path, lambda _event: deleted.set()) is not None:
            deleted.wait(_MAX_WAIT)

    def rejoin(self, passed: Mapping[str, int]) -> None:
        """Register again in a new session. The old znode is deleted with the old session."""
        if self._own is not None:
            try:
                self.join(self._own, passed)
            except ConfigurationError as error:
                log.error("%s", error)

    def publish(self, passed: Mapping[str, int]) -> None:
        """Publish the numbers up to which this server has processed notifications, if they have changed."""
        if self._own is not None and passed != self._published:
            self._session.set(f"{paths.SERVERS}/{self._own.id}", _write_server(self._own, passed))
            self._published = passed

    def passed_by_all(self) -> Mapping[str, int]:
        """The number in each directory before which every live server has processed all notifications."""
        live = [f"{paths.SERVERS}/{name}" for name in self._session.children(paths.SERVERS)]
        found = [_read_passed(data) for _, data, _ in self._session.get_many(live)]
        return {directory: min((each.get(directory, 0) for each in found), default=_ALL) for directory in DIRECTORIES}

    def refresh(self) -> None:
        """Read the members, and watch for the next change."""
        self.is_stale = False
        servers = self._read(paths.SERVERS, _read_server)
        brokers = self._read(paths.BROKER_IDS, _read_broker)
        self.members = ClusterMembers(servers, brokers)

    def _read(self, directory: str, read: Callable[[int, Any], ClusterMember]) -> Mapping[int, ClusterMember]:
        names = [name for name in self._session.children(directory, self._changed) if name.isdecimal()]
        found = {}
        for path, data, stat in self._session.get_many(f"{directory}/{name}" for name in names):
            number = int(path.rpartition("/")[2])
            try:
                found[number] = read(number, json.loads(data))._replace(epoch=stat.czxid)
            except (ValueError, KeyError, TypeError, AttributeError):
                log.warning("ignored %s: it has no valid endpoints", path)
        return found

    def _changed(self, _event: Any) -> None:
        self.is_stale = True
        self._on_change()


def _write_server(member: ClusterMember, passed: Mapping[str, int]) -> bytes:
    facts = {"version": 1, "endpoints": member.endpoints, "rack": member.rack, "passed": passed}
    return json.dumps(facts, separators=(",", ":")).encode()


def _read_server(number: int, facts: Any) -> ClusterMember:
    endpoints = {name: (str(host), int(port)) for name, (host, port) in facts["endpoints"].items()}
    return ClusterMember(number, endpoints, facts["rack"])


def _read_passed(data: bytes) -> Mapping[str, int]:
    """The published positions of a server. Without them, it is assumed to have read nothing."""
    try:
        return {str(directory): int(number) for directory, number in json.loads(data)["passed"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _read_broker(number: int, facts: Any) -> ClusterMember:
    """Parse the znode of a Kafka broker. Endpoints are NAME://host:port."""
    endpoints = {}
    for each in facts["endpoints"]:
        name, _, address = each.partition("://")
        parts = urlsplit(f"//{address}")
        endpoints[name] = (str(parts.hostname), int(parts.port or 0))
    protocols = facts.get("listener_security_protocol_map", {})
    plaintext = next((address for name, address in endpoints.items() if protocols.get(name, name) == "PLAINTEXT"), None)
    return ClusterMember(number, endpoints, facts.get("rack"), plaintext)
