"""Who is there: an ephemeral znode per kconf server under /kconf/servers, and the brokers' own under /brokers/ids.

kconf never registers where brokers do: a controller would give it partitions to lead.
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
from kconf.model.membership import NOBODY, Member, Members
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.session import TIMEOUT, Session

log = getLogger(__name__)

_PATIENCE: Final = 2 * TIMEOUT  # a server that was killed is still there until its session ends


class Membership:
    """Registers this server, and knows the others."""

    def __init__(self, session: Session, woken: Callable[[], None]) -> None:
        self.members = NOBODY
        self.is_waiting = False
        self._session = session
        self._woken = woken
        self._own: Member | None = None

    def join(self, member: Member) -> None:
        """Raises ConfigurationError where another server has the same id."""
        self._own = member
        path, data = f"{at.SERVERS}/{member.id}", _written(member)
        for _ in range(2):
            try:
                self._session.create(path, data, ephemeral=True)
            except NodeExistsError:
                if self._is_ours(path):
                    break
                self._await_gone(path)
            else:
                self.look()
                return
        if not self._is_ours(path):
            raise ConfigurationError(f"another server with the id {member.id} uses this store: give each its --node-id")

    def _is_ours(self, path: str) -> bool:
        found, identity = self._session.get(path), self._session.client.client_id
        return found is not None and identity is not None and found[1].owner_session_id == identity[0]

    def _await_gone(self, path: str) -> None:
        gone = Event()
        if self._session.get(path, lambda _event: gone.set()) is not None:
            gone.wait(_PATIENCE)

    def rejoin(self) -> None:
        """A new session: the znode of the old one is gone, or goes."""
        if self._own is not None:
            try:
                self.join(self._own)
            except ConfigurationError as error:
                log.error("%s", error)

    def look(self) -> None:
        """Read who is there, and watch for the next change."""
        self.is_waiting = False
        servers = self._read(at.SERVERS, _read_server)
        brokers = self._read(at.BROKER_IDS, _read_broker)
        self.members = Members(servers, brokers)

    def _read(self, directory: str, read: Callable[[int, Any], Member]) -> Mapping[int, Member]:
        names = [name for name in self._session.children(directory, self._changed) if name.isdecimal()]
        found = {}
        for path, data, stat in self._session.get_many(f"{directory}/{name}" for name in names):
            number = int(path.rpartition("/")[2])
            try:
                found[number] = read(number, json.loads(data))._replace(epoch=stat.czxid)
            except (ValueError, KeyError, TypeError, AttributeError):
                log.warning("passed over %s: it does not say where it listens", path)
        return found

    def _changed(self, _event: Any) -> None:
        self.is_waiting = True
        self._woken()


def _written(member: Member) -> bytes:
    facts = {"version": 1, "endpoints": member.endpoints, "rack": member.rack}
    return json.dumps(facts, separators=(",", ":")).encode()


def _read_server(number: int, facts: Any) -> Member:
    endpoints = {name: (str(host), int(port)) for name, (host, port) in facts["endpoints"].items()}
    return Member(number, endpoints, facts["rack"])


def _read_broker(number: int, facts: Any) -> Member:
    """Kafka's document: endpoints read NAME://host:port."""
    endpoints = {}
    for each in facts["endpoints"]:
        name, _, address = each.partition("://")
        parts = urlsplit(f"//{address}")
        endpoints[name] = (str(parts.hostname), int(parts.port or 0))
    protocols = facts.get("listener_security_protocol_map", {})
    plain = next((address for name, address in endpoints.items() if protocols.get(name, name) == "PLAINTEXT"), None)
    return Member(number, endpoints, facts.get("rack"), plain)
