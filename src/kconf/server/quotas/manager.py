"""Enforces client quotas: an index of quotas, updated with every commit, and a sensor per client that has a quota.

The server enforces request_percentage, controller_mutation_rate and connection_creation_rate. Byte rates are enforced
by brokers. The quota is looked up for every request, so a change applies to open connections immediately. The number of
sensors is bounded; the least recently used are evicted. Without quotas, `is_limiting` is False and nothing is measured.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from logging import getLogger
from typing import Any, Final, Generic, TypeVar

from kconf.engine.quotas.alter import canonical_address
from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import Name
from kconf.engine.quotas.rates import MutationQuota, Rate, Windows
from kconf.model.journal import Revision
from kconf.model.quota import IP, QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.service import Service
from kconf.util.bounded_cache import BoundedCache, text_size
from kconf.util.memory import gc_paused
from kconf.util.token_bucket import TokenBucket

log = getLogger(__name__)

REQUEST_PERCENTAGE: Final = "request_percentage"
MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_RATE: Final = "connection_creation_rate"

MAX_SENSORS = 10_000  # sensors per quota
MAX_SEEN_BYTES = 4 << 20  # pairs of user and client id, for what-if
MAX_NAME = 255  # maximum length of a name in the key of a sensor
_LOOKUP_TIMEOUT = 3.0  # seconds

SensorKey = tuple[Name, Name]
"""(user, client id) with "" for any, or (address, "")."""


M = TypeVar("M")


class Sensor(Generic[M]):
    """The rate of one entity, and its throttle time so far."""

    __slots__ = ("limit", "rate", "throttled_ms", "throttles")

    def __init__(self, rate: M) -> None:
        self.rate = rate
        self.limit = 0.0
        self.throttles = 0
        self.throttled_ms = 0

    def throttled(self, delay_ms: int) -> None:
        if delay_ms:
            self.throttles += 1
            self.throttled_ms += delay_ms


class Sensors(Generic[M]):
    """Measured rates by entity. The least recently used are evicted, but their throttle times stay in the total."""

    def __init__(self, make: Callable[[], M], most: int = MAX_SENSORS) -> None:
        self._make = make
        self._most = most
        self._by_key: OrderedDict[SensorKey, Sensor[M]] = OrderedDict()
        self.throttles = 0  # of evicted sensors
        self.throttled_ms = 0

    def of(self, key: SensorKey, limit: float) -> Sensor[M]:
        key = _short(key[0]), _short(key[1])
        found = self._by_key.get(key)
        if found is None:
            if len(self._by_key) >= self._most:
                _, evicted = self._by_key.popitem(last=False)
                self.throttles += evicted.throttles
                self.throttled_ms += evicted.throttled_ms
            found = self._by_key[key] = Sensor(self._make())
        else:
            self._by_key.move_to_end(key)
        found.limit = limit
        return found

    def __len__(self) -> int:
        return len(self._by_key)

    def items(self) -> Iterator[tuple[SensorKey, Sensor[M]]]:
        yield from self._by_key.items()


class QuotaManager:
    """Computes throttle times. `now` is any monotonic clock in seconds."""

    def __init__(
        self, now: Callable[[], float], *, windows: Windows | None = None, controller: Windows | None = None
    ) -> None:
        self.index = QuotaIndex()
        self.is_limiting = False  # whether any client has a quota on requests
        self.requests: Sensors[Rate] = Sensors(lambda: Rate(self._windows))
        self.mutations: Sensors[TokenBucket] = Sensors(lambda: self._controller.token_bucket())
        self.connections: Sensors[Rate] = Sensors(lambda: Rate(self._windows))
        self._now = now
        self._windows = windows or Windows()
        self._controller = controller or Windows()
        self._seen: BoundedCache[tuple[str, str], bool] = BoundedCache(MAX_SEEN_BYTES, lambda pair: text_size(*pair))
        self._addresses: dict[str, str] = {}  # address of a socket → name of the ip entity
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def over(cls, service: Service, now: Callable[[], float]) -> QuotaManager:
        """A manager that is updated with a service's commits, with the quota windows of its static configuration."""
        number = service.settings.number
        manager = cls(
            now,
            windows=Windows(number("quota.window.num"), number("quota.window.size.seconds")),
            controller=Windows(number("controller.quota.window.num"), number("controller.quota.window.size.seconds")),
        )
        manager.load(service.state.snapshot)
        service.subscribe(lambda revisions: manager.on_commit(revisions, service.state.snapshot))
        return manager

    # -- the quotas that are set -------------------------------------------------------------------------------------

    def load(self, snapshot: Snapshot) -> None:
        """Start with the quotas of a snapshot."""
        with gc_paused():
            self.index = QuotaIndex.of(snapshot)
        self._add_addresses(name for name in self.index.ips if name is not None)
        self._update_limiting()

    def on_commit(self, revisions: Sequence[Revision], snapshot: Snapshot) -> None:
        """Update the index with committed changes."""
        changed = {
            change.resource
            for revision in revisions
            for change in revision.changes
            if change.resource.type == ResourceType.QUOTA
        }
        if changed:
            self.index.refresh(snapshot, changed)
            self._add_addresses(_hosts(changed))
            self._update_limiting()

    def _update_limiting(self) -> None:
        uses = self.index.uses
        self.is_limiting = bool(uses.get(REQUEST_PERCENTAGE) or uses.get(MUTATION_RATE))

    def _add_addresses(self, hosts: Iterable[str]) -> None:
        """Map socket addresses to ip entities, which may be host names or addresses in another notation."""
        for host in hosts:
            address = canonical_address(host)
            if address is not None:
                self._addresses[address] = host
            else:
                task = asyncio.get_running_loop().create_task(self._look_up(host))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _look_up(self, host: str) -> None:
        for address in await addresses_of(host):
            self._addresses[address] = host

    # -- sensors -----------------------------------------------------------------------------------------------------

    def record_request(self, user: str, client_id: str, seconds: float) -> int:
        """Record the duration of a request. Returns the throttle time in milliseconds."""
        quota = self.index.resolve(REQUEST_PERCENTAGE, user, client_id)
        if quota is None:
            return 0
        sensor = self.requests.of(quota.bucket, quota.value)
        now = self._now() * 1000
        sensor.rate.record(seconds * 100, now)  # percent of one thread
        delay = sensor.rate.delay(quota.value, now, longest=self._windows.ms)
        sensor.throttled(delay)
        return delay

    def mutation(self, user: str, client_id: str, *, strict: bool) -> MutationQuota | None:
        """How many partitions a request may create or delete, or None if there is no quota."""
        if not self.index.uses.get(MUTATION_RATE):
            return None
        quota = self.index.resolve(MUTATION_RATE, user, client_id)
        if quota is None or not quota.value > 0:
            return None
        sensor = self.mutations.of(quota.bucket, quota.value)
        return MutationQuota(sensor.rate, quota.value, strict=strict, now=self._now() * 1000)

    def record_mutation(self, user: str, client_id: str, quota: MutationQuota | None) -> int:
        """Record the mutations of a request. Returns the throttle time in milliseconds."""
        if quota is None or not quota.delay_ms:
            return 0
        found = self.index.resolve(MUTATION_RATE, user, client_id)
        if found is not None:
            self.mutations.of(found.bucket, found.value).throttled(quota.delay_ms)
        return quota.delay_ms

    def record_connection(self, address: str) -> int:
        """Record a new connection. Returns 0 if accepted, or the delay in milliseconds after which to close it."""
        if not self.index.uses.get(CONNECTION_RATE):
            return 0
        address = canonical_address(address) or address
        quota = self.index.address(CONNECTION_RATE, self._addresses.get(address, address))
        if quota is None:
            return 0
        sensor = self.connections.of((address, ""), quota[0])
        now = self._now() * 1000
        sensor.rate.record(1, now)
        delay = sensor.rate.delay(quota[0], now, longest=self._windows.ms)
        if delay:
            sensor.rate.record(-1, now)  # as in Kafka: a rejected connection does not count
        sensor.throttled(delay)
        return delay

    @property
    def sensors(self) -> dict[str, Sensors[Any]]:
        """All sensors, by quota."""
        return {
            REQUEST_PERCENTAGE: self.requests,
            MUTATION_RATE: self.mutations,
            CONNECTION_RATE: self.connections,
        }

    def usage(self, sensor: Sensor[Any]) -> float:
        """The current usage: a rate, or the missing tokens."""
        now = self._now() * 1000
        if isinstance(sensor.rate, TokenBucket):
            return max(-sensor.rate.tokens(sensor.limit, now), 0.0)
        rate: float = sensor.rate.measure(now)
        return rate

    # -- recently seen clients ---------------------------------------------------------------------------------------

    def record_client(self, principal: str, client_id: str) -> None:
        self._seen.put((principal, client_id), True)

    @property
    def seen(self) -> Sequence[SensorKey]:
        """Recently seen users with their client ids, most recent first."""
        return tuple((user_of(principal), client_id) for principal, client_id in reversed(self._seen))


def _short(name: Name) -> Name:
    """Limit the length of a name, but keep it distinct: clients can send any name."""
    if name is None or len(name) <= MAX_NAME:
        return name
    return f"{name[:MAX_NAME]}…{sha256(name.encode('utf-8', 'replace')).hexdigest()}"


def user_of(principal: str) -> str:
    """The user name of a principal, without "User:"."""
    return principal.partition(":")[2]


def _hosts(resources: Iterable[Resource]) -> Iterator[str]:
    for resource in resources:
        host = dict(QuotaEntity.from_resource(resource).parts).get(IP)
        if host is not None:
            yield host


async def addresses_of(host: str) -> list[str]:
    """The addresses of a host name in the notation of sockets. Empty if the lookup fails or times out."""
    try:
        async with asyncio.timeout(_LOOKUP_TIMEOUT):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return []
    texts = (str(each[4][0]) for each in found)
    return list(dict.fromkeys(canonical_address(text) or text for text in texts))
