"""Who may use this server how much, now: an index that follows every commit, and the measures of who is limited.

Enforced are request_percentage, controller_mutation_rate and connection_creation_rate; byte rates are for the brokers
that carry data. The limit is looked up for every request, so that a change acts on open connections at once. Measures
are bounded in number, the least used go first. While nobody is limited, `limiting` is False and nothing is measured.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from kconf.util.gc_tuning import gc_paused
from kconf.util.token_bucket import TokenBucket

log = getLogger(__name__)

REQUEST_PERCENTAGE: Final = "request_percentage"
MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_RATE: Final = "connection_creation_rate"

MOST_MEASURES = 10_000  # of one kind
MOST_SEEN = 10_000  # users with their client ids, for what-if
_LOOKUP_SECONDS = 3.0

Who = tuple[Name, Name]
"""(user, client id), "" for what does not matter; of an address (address, "")."""


M = TypeVar("M")


class Measured(Generic[M]):
    """The measure of one entity, and how long it was made to wait in all."""

    __slots__ = ("by", "limit", "throttled_ms", "throttles")

    def __init__(self, by: M) -> None:
        self.by = by
        self.limit = 0.0
        self.throttles = 0
        self.throttled_ms = 0

    def waited(self, delay_ms: int) -> None:
        if delay_ms:
            self.throttles += 1
            self.throttled_ms += delay_ms


class Measures(Generic[M]):
    """By entity; the one that was used least lately makes room. What those had waited is not forgotten."""

    def __init__(self, make: Callable[[], M], most: int = MOST_MEASURES) -> None:
        self._make = make
        self._most = most
        self._by_who: OrderedDict[Who, Measured[M]] = OrderedDict()
        self.throttles = 0  # of those that are gone
        self.throttled_ms = 0

    def of(self, who: Who, limit: float) -> Measured[M]:
        found = self._by_who.get(who)
        if found is None:
            if len(self._by_who) >= self._most:
                _, gone = self._by_who.popitem(last=False)
                self.throttles += gone.throttles
                self.throttled_ms += gone.throttled_ms
            found = self._by_who[who] = Measured(self._make())
        else:
            self._by_who.move_to_end(who)
        found.limit = limit
        return found

    def __len__(self) -> int:
        return len(self._by_who)

    def items(self) -> Iterator[tuple[Who, Measured[M]]]:
        yield from self._by_who.items()


class QuotaManager:
    """Answers how long someone must wait. `now` is any clock in seconds that does not go back."""

    def __init__(
        self, now: Callable[[], float], *, windows: Windows | None = None, controller: Windows | None = None
    ) -> None:
        self.index = QuotaIndex()
        self.limiting = False  # is any request limited at all?
        self.requests: Measures[Rate] = Measures(lambda: Rate(self._windows))
        self.mutations: Measures[TokenBucket] = Measures(lambda: self._controller.token_bucket())
        self.connections: Measures[Rate] = Measures(lambda: Rate(self._windows))
        self._now = now
        self._windows = windows or Windows()
        self._controller = controller or Windows()
        self._seen: OrderedDict[tuple[str, str], None] = OrderedDict()  # (principal, client id)
        self._addresses: dict[str, str] = {}  # an address as sockets say it -> the ip entity that means it
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def over(cls, service: Service, now: Callable[[], float]) -> QuotaManager:
        """The manager that follows a service, with the windows that its static layer sets."""
        number = service.state.ladder.number
        manager = cls(
            now,
            windows=Windows(number("quota.window.num"), number("quota.window.size.seconds")),
            controller=Windows(number("controller.quota.window.num"), number("controller.quota.window.size.seconds")),
        )
        manager.load(service.state.snapshot)
        service.subscribe(lambda revisions: manager.follow(revisions, service.state.snapshot))
        return manager

    # -- what is set -------------------------------------------------------------------------------------------------

    def load(self, snapshot: Snapshot) -> None:
        """Begin with all that a snapshot has."""
        with gc_paused():
            self.index = QuotaIndex.of(snapshot)
        self._name_addresses(name for name in self.index.ips if name is not None)
        self._decide()

    def follow(self, revisions: Sequence[Revision], snapshot: Snapshot) -> None:
        """Take over what was committed."""
        changed = {
            change.resource
            for revision in revisions
            for change in revision.changes
            if change.resource.type == ResourceType.QUOTA
        }
        if changed:
            self.index.refresh(snapshot, changed)
            self._name_addresses(_hosts(changed))
            self._decide()

    def _decide(self) -> None:
        uses = self.index.uses
        self.limiting = bool(uses.get(REQUEST_PERCENTAGE) or uses.get(MUTATION_RATE))

    def _name_addresses(self, hosts: Iterable[str]) -> None:
        """A quota may be set for a name, or for an address in another spelling than a socket's."""
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

    # -- who goes how fast -------------------------------------------------------------------------------------------

    def request(self, user: str, client_id: str, seconds: float) -> int:
        """Count the time that a request took; the milliseconds that its sender must wait now."""
        quota = self.index.resolve(REQUEST_PERCENTAGE, user, client_id)
        if quota is None:
            return 0
        measured = self.requests.of(quota.bucket, quota.value)
        now = self._now() * 1000
        measured.by.record(seconds * 100, now)  # percent of one thread
        delay = measured.by.delay(quota.value, now, longest=self._windows.ms)
        measured.waited(delay)
        return delay

    def mutation(self, user: str, client_id: str, *, strict: bool) -> MutationQuota | None:
        """What a request may spend on partitions; None: as many as it likes."""
        if not self.index.uses.get(MUTATION_RATE):
            return None
        quota = self.index.resolve(MUTATION_RATE, user, client_id)
        if quota is None or not quota.value > 0:
            return None
        measured = self.mutations.of(quota.bucket, quota.value)
        return MutationQuota(measured.by, quota.value, strict=strict, now=self._now() * 1000)

    def mutated(self, user: str, client_id: str, quota: MutationQuota | None) -> int:
        """The milliseconds to wait for what was spent."""
        if quota is None or not quota.delay_ms:
            return 0
        found = self.index.resolve(MUTATION_RATE, user, client_id)
        if found is not None:
            self.mutations.of(found.bucket, found.value).waited(quota.delay_ms)
        return quota.delay_ms

    def connected(self, address: str) -> int:
        """Count a new connection; the milliseconds after which it must be closed unserved, 0: welcome."""
        if not self.index.uses.get(CONNECTION_RATE):
            return 0
        address = canonical_address(address) or address
        quota = self.index.address(CONNECTION_RATE, self._addresses.get(address, address))
        if quota is None:
            return 0
        measured = self.connections.of((address, ""), quota[0])
        now = self._now() * 1000
        measured.by.record(1, now)
        delay = measured.by.delay(quota[0], now, longest=self._windows.ms)
        if delay:
            measured.by.record(-1, now)  # as in Kafka: what was turned away does not count
        measured.waited(delay)
        return delay

    @property
    def measures(self) -> dict[str, Measures[Any]]:
        """All measures, by the quota that they are for."""
        return {
            REQUEST_PERCENTAGE: self.requests,
            MUTATION_RATE: self.mutations,
            CONNECTION_RATE: self.connections,
        }

    def use(self, measured: Measured[Any]) -> float:
        """How much is used now: a rate, or the tokens that are owed."""
        now = self._now() * 1000
        if isinstance(measured.by, TokenBucket):
            return max(-measured.by.tokens(measured.limit, now), 0.0)
        rate: float = measured.by.measure(now)
        return rate

    # -- who was here ------------------------------------------------------------------------------------------------

    def saw(self, principal: str, client_id: str) -> None:
        seen, who = self._seen, (principal, client_id)
        if who in seen:
            seen.move_to_end(who)
        else:
            seen[who] = None
            if len(seen) > MOST_SEEN:
                seen.popitem(last=False)

    @property
    def seen(self) -> Sequence[Who]:
        """Users with their client ids, the latest first."""
        return tuple((user_of(principal), client_id) for principal, client_id in reversed(self._seen))


def user_of(principal: str) -> str:
    """Quotas name a user without the "User:" of its principal."""
    return principal.partition(":")[2]


def _hosts(resources: Iterable[Resource]) -> Iterator[str]:
    for resource in resources:
        host = dict(QuotaEntity.from_resource(resource).parts).get(IP)
        if host is not None:
            yield host


async def addresses_of(host: str) -> list[str]:
    """The addresses that a name leads to, as sockets say them; none where it leads nowhere, or not in time."""
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return []
    texts = (str(each[4][0]) for each in found)
    return list(dict.fromkeys(canonical_address(text) or text for text in texts))
