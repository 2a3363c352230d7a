"""How a call is brought to its end: whom to ask, what to ask again, when to give up.

`run_call` is a generator, so that the AdminClient and the SyncAdminClient share it: it yields what shall happen (an
`SendBatch` of requests, all at once; a `Backoff`) and is sent what came of it. It keeps no clock and no socket itself.

One rule decides what a failure is. If no part of a call was answered, it raises; if some parts were, the items of the
others have a `ApiError` in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from kconf.client.calls.base import ANY, CONTROLLER, EVERY, RETRIABLE, Call, CallResult, K, V
from kconf.client.settings import Address
from kconf.client.transport.metadata import ClusterMetadata
from kconf.errors import (
    ApiError,
    BrokerNotAvailable,
    ConnectionFailed,
    ErrorCode,
    KafkaError,
    KconfError,
    RequestTimedOut,
)

T = TypeVar("T")


class NodeRequest(NamedTuple):
    """One request: some items of a call, for one address."""

    address: Address
    call: Call[Any, Any, Any]
    items: Sequence[Any]


class SendBatch(NamedTuple):
    """Ask all of these, and come back with an answer or an error for each."""

    asks: Sequence[NodeRequest]


class Backoff(NamedTuple):
    seconds: float


Reply = CallResult | KconfError
Script = Generator[SendBatch | Backoff, Sequence[Reply], T]


def run_call(
    call: Call[K, V, T],
    cluster: ClusterMetadata,
    deadline: float,
    clock: Callable[[], float],
    jitter: Callable[[], float],
) -> Script[T]:
    """Bring a call to its end before `deadline`, or raise what prevented it. `jitter` is a number below 1."""
    return _Run(call, cluster, deadline, clock, jitter).script()


class _Run(Generic[K, V, T]):
    def __init__(
        self,
        call: Call[K, V, T],
        cluster: ClusterMetadata,
        deadline: float,
        clock: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        self.call, self.cluster, self.deadline, self.clock, self.jitter = call, cluster, deadline, clock, jitter
        self.began = clock()
        self.pending: dict[K, None] = dict.fromkeys(call.items)
        self.done: dict[K, V | ApiError] = {}
        self.errors: dict[K, KafkaError] = {}
        self.attempts = 0
        self.wait = 0.0

    def script(self) -> Script[T]:
        if self.call.route == EVERY:
            yield from self._every_node()
        while self.pending:
            try:
                yield from self._round()
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable) as error:  # while asking who is who
                self.errors.update(dict.fromkeys(self.pending, error))
            if self.pending and not (yield from self._may_go_on()):
                break
        return self._end()

    def _round(self) -> Script[None]:
        routes = {item: self.call.route_of(item) for item in self.pending}
        if self._needs_nodes(routes):
            yield from self._learn()
        asks = list(self._asks(routes))
        if asks:
            replies = yield SendBatch(asks)
            for ask, reply in zip(asks, replies, strict=True):
                self._take(ask, reply)

    def _every_node(self) -> Script[None]:
        while True:
            try:
                yield from self._learn()
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable) as error:
                self.errors = {None: error}  # type: ignore[dict-item]
                if not (yield from self._may_go_on()):
                    raise
                continue
            self.pending = dict.fromkeys(self.cluster.nodes)  # type: ignore[arg-type]  # such a call is about node ids
            return

    def _needs_nodes(self, routes: dict[K, int]) -> bool:
        if self.cluster.is_known(self.clock()):
            return False
        many = len(routes) > (self.call.bulk * self.cluster.settings.batch)
        return many or self.cluster.settings.controllers or any(route != ANY for route in routes.values())

    def _learn(self) -> Script[None]:
        """Ask who is who."""
        from kconf.client.calls.cluster import Controllers, Nodes

        cluster = self.cluster
        ask = NodeRequest(cluster.first(), Controllers() if cluster.settings.controllers else Nodes(), (None,))
        (reply,) = yield SendBatch([ask])
        if isinstance(reply, ConnectionFailed | RequestTimedOut):
            cluster.blame(ask.address)
        if isinstance(reply, KconfError):
            raise reply
        cluster.absolve(ask.address)
        outcome = reply.outcomes[None]
        if isinstance(outcome, ApiError):
            raise outcome.error()
        cluster.learn(outcome.nodes.values(), outcome.controller, self.clock())
        if not cluster.nodes:
            raise BrokerNotAvailable(f"{ask.address} knows of no broker")

    def _asks(self, routes: dict[K, int]) -> Iterator[NodeRequest]:
        """The requests of a round; an item for a node that is not there gets its failure at once."""
        together: dict[tuple[int, Hashable], list[K]] = {}
        for item, route in routes.items():
            together.setdefault((self._real(route), self.call.group(item)), []).append(item)
        for (route, _), items in together.items():
            target = self.cluster.target(route)
            if target is None:
                self._nobody(route, items)
                continue
            chunks = list(self._chunks(items))
            spread = route == ANY and not self.cluster.settings.controllers and len(chunks) > 1
            targets = self.cluster.spread(len(chunks)) if spread else [target] * len(chunks)
            for address, chunk in zip(targets, chunks, strict=True):
                yield NodeRequest(address, self.call, chunk)

    def _real(self, route: int) -> int:
        """On controllers everything is the active one's, but what a listed controller alone can tell."""
        if self.cluster.settings.controllers and route not in self.cluster.nodes:
            return CONTROLLER
        return route

    def _nobody(self, route: int, items: list[K]) -> None:
        if route in (ANY, CONTROLLER):
            self.cluster.forget()
            self.errors.update(dict.fromkeys(items, BrokerNotAvailable("the cluster has no controller now")))
            return
        there = ", ".join(map(str, sorted(self.cluster.nodes)))
        for item in items:
            self._settle(item, ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"there is no broker {route}, only {there}"))
        self.cluster.forget()

    def _chunks(self, items: list[K]) -> Iterator[list[K]]:
        size = self.call.bulk * self.cluster.settings.batch
        rows: list[list[K]] = [[]]
        seen: list[set[Hashable]] = [set()]
        for item in items:
            mark = self.call.apart(item)
            number = len(rows) - 1
            if mark is not None:
                number = next(
                    (n for n, marks in enumerate(seen) if mark not in marks and len(rows[n]) < size), len(rows)
                )
            elif len(rows[number]) >= size:
                number += 1
            if number == len(rows):
                rows.append([])
                seen.append(set())
            rows[number].append(item)
            if mark is not None:
                seen[number].add(mark)
        yield from rows

    def _take(self, ask: NodeRequest, reply: Reply) -> None:
        if isinstance(reply, CallResult):
            self.cluster.absolve(ask.address)
            self._read(ask, reply)
            return
        if not isinstance(reply, KafkaError):
            raise reply
        if isinstance(reply, ConnectionFailed | RequestTimedOut):
            self.cluster.blame(ask.address)
            sent = isinstance(reply, RequestTimedOut) or reply.sent
            if self.call.repeatable or not sent:
                self.errors.update(dict.fromkeys(ask.items, reply))
                return
        for item in ask.items:  # not to be asked again
            self.errors[item] = reply
            self.pending.pop(item, None)

    def _read(self, ask: NodeRequest, answer: CallResult) -> None:
        missing = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the answer of {ask.address} leaves it out")
        for item in ask.items:
            outcome = answer.outcomes.get(item, missing)
            if isinstance(outcome, ApiError) and outcome.code in RETRIABLE:
                self.errors[item] = outcome.error()
                if outcome.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
                    self.wait = max(self.wait, answer.throttle_ms / 1000)
                else:
                    self.cluster.forget()
            else:
                self._settle(item, outcome)

    def _settle(self, item: K, outcome: V | ApiError) -> None:
        self.done[item] = outcome
        self.pending.pop(item, None)
        self.errors.pop(item, None)

    def _may_go_on(self) -> Script[bool]:
        """Wait before the next round, if there is to be one."""
        settings = self.cluster.settings
        self.attempts += 1
        if not self.cluster.reached and self.attempts >= settings.connect_attempts * len(settings.bootstrap):
            return False
        turn = self.attempts if self.cluster.reached else (self.attempts - 1) // len(settings.bootstrap) + 1
        pause = min(settings.backoff * 2 ** (turn - 1), settings.backoff_max) * (0.8 + 0.4 * self.jitter())
        pause, self.wait = max(pause, self.wait), 0.0
        if not self.cluster.reached and self.attempts % len(settings.bootstrap):
            pause = 0.0  # the next of the list, at once
        if self.clock() + pause >= self.deadline:
            return False
        yield Backoff(pause)
        return True

    def _end(self) -> T:
        if not self.done and self.errors:
            raise self._last_error()
        for item in self.pending:
            self.errors.setdefault(item, RequestTimedOut())
        failures = {item: error.failure() for item, error in self.errors.items()}
        found = {**self.done, **failures}
        order = self.call.items if self.call.route != EVERY else found
        return self.call.finish({item: found[item] for item in order})

    def _last_error(self) -> KafkaError:
        error = next(iter(self.errors.values()))
        if self.pending and self.cluster.reached and not isinstance(error, RequestTimedOut):
            seconds = self.clock() - self.began
            timed_out = RequestTimedOut(f"{self.call.name} did not succeed in {seconds:.0f} s; at last: {error}")
            timed_out.__cause__ = error
            return timed_out
        several = self.cluster.settings.bootstrap
        if isinstance(error, ConnectionFailed) and not self.cluster.reached and len(several) > 1:
            return ConnectionFailed(f"none of {', '.join(map(str, several))} can be reached; at last: {error}")
        return error
