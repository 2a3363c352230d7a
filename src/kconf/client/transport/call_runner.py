"""Runs a call: decides where each request goes, what is retried, and when to give up.

`run_call` is a generator without clocks and sockets, so that AdminClient and SyncAdminClient share it. It yields the
next step (a `SendBatch` of concurrent requests, or a `Backoff`) and receives the replies.

If no request of a call was answered, the call raises an error. If some were, the items of the others get an `ApiError`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from kconf.client.calls.base import ANY, CONTROLLER, EVERY, RETRIABLE, Call, CallResult, K, V, failure_of
from kconf.client.transport.batching import batches
from kconf.client.transport.metadata import ClusterMetadata
from kconf.client.transport.requests import Backoff, NodeRequest, Reply, SendBatch
from kconf.errors import (
    ApiError,
    BrokerNotAvailable,
    ConnectionFailed,
    ErrorCode,
    KconfError,
    RemoteProtocolError,
    RequestTimedOut,
)

T = TypeVar("T")

_Lost = ConnectionFailed | RequestTimedOut
_UNANSWERED: Final = "an earlier attempt got no response, so the change may have been made"

CallSteps = Generator[SendBatch | Backoff, Sequence[Reply], T]


def run_call(
    call: Call[K, V, T],
    cluster: ClusterMetadata,
    deadline: float,
    clock: Callable[[], float],
    jitter: Callable[[], float],
) -> CallSteps[T]:
    """Return the result of a call before `deadline`, or raise the error. `jitter` returns a number below 1."""
    return _CallRunner(call, cluster, deadline, clock, jitter).run()


class _CallRunner(Generic[K, V, T]):
    def __init__(
        self,
        call: Call[K, V, T],
        cluster: ClusterMetadata,
        deadline: float,
        clock: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        self.call, self.cluster, self.deadline, self.clock, self.jitter = call, cluster, deadline, clock, jitter
        self.started = clock()
        self.pending: dict[K, None] = dict.fromkeys(call.items)
        self.outcomes: dict[K, V | ApiError] = {}
        self.errors: dict[K, KconfError] = {}
        self.attempts = 0
        self.throttle = 0.0
        self.may_be_done = False  # a request was sent and not answered, so it may have been executed
        self.unanswered: set[K] = set()  # the items of such requests
        self.out_of_time = False

    def run(self) -> CallSteps[T]:
        if self.call.route == EVERY:
            yield from self._every_node()
        while self.pending:
            try:
                yield from self._attempt()
            except KconfError as error:  # failures of the metadata request
                self._metadata_failed(error)
            if self.pending and not (yield from self._backoff([self.errors[item] for item in self.pending])):
                break
        return self._result()

    def _attempt(self) -> CallSteps[None]:
        node = self.call.node
        routes = {item: self.call.route_of(item) if node is None else node for item in self.pending}
        if self._needs_metadata(routes):
            yield from self._update_metadata()
        requests = list(self._requests(routes))
        if requests:
            replies = yield SendBatch(requests)
            for request, reply in zip(requests, replies, strict=True):
                self._handle(request, reply)

    def _metadata_failed(self, error: KconfError) -> None:
        """Retry, or give up: without the outcomes of earlier attempts, which are returned."""
        self.errors.update(dict.fromkeys(self.pending, error))
        if isinstance(error, ConnectionFailed | RequestTimedOut | BrokerNotAvailable) and not _is_final(error):
            return
        if not self.outcomes and not self.unanswered:
            raise error
        self.pending.clear()

    def _every_node(self) -> CallSteps[None]:
        """Replace the items of a call to every node by the ids of all nodes."""
        failure: KconfError | None = None
        while failure is None or (yield from self._backoff([failure])):
            try:
                yield from self._update_metadata()
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable) as error:
                if _is_final(error):
                    raise
                failure = error
            else:
                self.pending = dict.fromkeys(self.cluster.nodes)  # type: ignore[arg-type]
                return
        raise self._final_error(failure)

    def _needs_metadata(self, routes: dict[K, int]) -> bool:
        if self.cluster.is_fresh(self.clock()):
            return False
        controllers = self.cluster.settings.bootstrap.controllers
        return len(routes) > self._batch_size or controllers or any(route != ANY for route in routes.values())

    @property
    def _batch_size(self) -> int:
        if self.call.forwarded:
            return max(1, len(self.call.items))
        return self.call.batch_factor * self.cluster.settings.limits.batch

    def _update_metadata(self) -> CallSteps[None]:
        from kconf.client.calls.cluster import ListControllers, ListNodes

        cluster = self.cluster
        call = ListControllers() if cluster.settings.bootstrap.controllers else ListNodes()
        request = NodeRequest(cluster.preferred_address(), call, (None,))
        (reply,) = yield SendBatch([request])
        if isinstance(reply, ConnectionFailed | RequestTimedOut):
            cluster.mark_failed(request.address)
        if isinstance(reply, KconfError):
            raise reply
        cluster.mark_reachable(request.address)
        outcome = reply.outcomes[None]
        if isinstance(outcome, ApiError):
            raise outcome.error()
        cluster.update(outcome.nodes.values(), outcome.controller, self.clock())
        if not cluster.nodes:
            raise BrokerNotAvailable(f"{request.address} returned no brokers")

    def _requests(self, routes: dict[K, int]) -> Iterator[NodeRequest]:
        """The requests of one attempt. Items for a node that does not exist fail immediately."""
        groups: dict[tuple[int, Hashable], list[K]] = {}
        for item, route in routes.items():
            groups.setdefault((self._actual_route(route), self.call.group(item)), []).append(item)
        for (route, _), items in groups.items():
            address = self.cluster.address_of(route)
            if address is None:
                self._no_such_node(route, items)
                continue
            parts = list(batches(items, self._batch_size, self.call.conflict_key))
            spread = route == ANY and not self.cluster.settings.bootstrap.controllers and len(parts) > 1
            addresses = self.cluster.round_robin(len(parts)) if spread else [address] * len(parts)
            for target, part in zip(addresses, parts, strict=True):
                yield NodeRequest(target, self.call, part)

    def _actual_route(self, route: int) -> int:
        """With bootstrap controllers, everything goes to the active controller, except requests to a specific node."""
        if self.cluster.settings.bootstrap.controllers and route not in self.cluster.nodes:
            return CONTROLLER
        return route

    def _no_such_node(self, route: int, items: list[K]) -> None:
        if route in (ANY, CONTROLLER):
            self.cluster.invalidate()
            self.errors.update(dict.fromkeys(items, BrokerNotAvailable("the cluster has no controller at the moment")))
            return
        known = ", ".join(map(str, sorted(self.cluster.nodes)))
        for item in items:
            self._finish(
                item, ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"unknown broker {route}; the cluster has {known}")
            )
        self.cluster.invalidate()

    def _handle(self, request: NodeRequest, reply: Reply) -> None:
        if isinstance(reply, CallResult):
            self.cluster.mark_reachable(request.address)
            self._handle_result(request, reply)
            return
        was_sent = reply.sent if isinstance(reply, _Lost) else isinstance(reply, RemoteProtocolError)
        if was_sent:
            self.may_be_done = True
            self.unanswered.update(request.items)
        self.errors.update(dict.fromkeys(request.items, reply))
        if isinstance(reply, _Lost):
            self.cluster.mark_failed(request.address)
            if (self.call.repeatable or not was_sent) and not _is_final(reply):
                return  # to be retried
        for item in request.items:
            self.pending.pop(item, None)

    def _handle_result(self, request: NodeRequest, result: CallResult) -> None:
        missing = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{request.address} returned no result for it")
        for item in request.items:
            outcome = result.outcomes.get(item, missing)
            if isinstance(outcome, ApiError) and outcome.code in RETRIABLE:
                self.errors[item] = outcome.error()
                if outcome.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
                    self.throttle = max(self.throttle, result.throttle_ms / 1000)
                else:
                    self.cluster.invalidate()
            else:
                self._finish(item, self._with_unanswered(item, outcome))

    def _with_unanswered(self, item: K, outcome: V | ApiError) -> V | ApiError:
        """An error does not mean that nothing was changed, if an earlier attempt may have been executed."""
        if not isinstance(outcome, ApiError) or not self.call.is_change or item not in self.unanswered:
            return outcome
        return outcome._replace(message="; ".join(filter(None, (outcome.message, _UNANSWERED))))

    def _finish(self, item: K, outcome: V | ApiError) -> None:
        self.outcomes[item] = outcome
        self.pending.pop(item, None)
        self.errors.pop(item, None)

    def _backoff(self, errors: Collection[KconfError]) -> CallSteps[bool]:
        """Wait before the next attempt. `errors` are those of the last one.

        Returns False if the attempts or the time are exhausted.
        """
        if self.throttle > self.call.longest_throttle:
            return False
        retries, bootstrap = self.cluster.settings.retries, self.cluster.settings.bootstrap.addresses
        reached = self.cluster.reached
        self.attempts += 1
        if not reached and self.attempts >= retries.connect_attempts * len(bootstrap):
            return False
        if retries.lost_attempts is not None and self.attempts >= retries.lost_attempts and _is_lost(errors):
            return False
        rounds = self.attempts if reached else (self.attempts - 1) // len(bootstrap) + 1
        delay, self.throttle = max(retries.delay(rounds, self.jitter()), self.throttle), 0.0
        if not reached and self.attempts % len(bootstrap):
            delay = 0.0  # try the next bootstrap address immediately
        if self.clock() + delay >= self.deadline:
            self.out_of_time = True
            return False
        yield Backoff(delay)
        return True

    def _result(self) -> T:
        if not self.outcomes and self.errors and not (self.call.forwarded and self._have_failed_differently()):
            raise self._final_error(next(iter(self.errors.values())))
        for item in self.pending:
            self.errors.setdefault(item, RequestTimedOut())
        failures = {item: failure_of(error, sent=item in self.unanswered) for item, error in self.errors.items()}
        found = {**self.outcomes, **failures}
        order = self.call.items if self.call.route != EVERY else found
        return self.call.finish({item: found[item] for item in order})

    def _have_failed_differently(self) -> bool:
        return len({(type(error), item in self.unanswered) for item, error in self.errors.items()}) > 1

    def _final_error(self, error: KconfError) -> KconfError:
        """The error of a call without any response, from the error of its last attempt."""
        if isinstance(error, ConnectionFailed | RequestTimedOut):
            error.sent = error.sent or self.may_be_done  # also if the last attempt was not sent
        was_connected = self.cluster.reached or self.may_be_done
        if self.out_of_time and was_connected and not isinstance(error, RequestTimedOut) and not self.call.forwarded:
            seconds = self.clock() - self.started
            timed_out = RequestTimedOut(f"{self.call.name} did not succeed in {seconds:.0f} s; last error: {error}")
            timed_out.sent = self.may_be_done
            timed_out.__cause__ = error
            return timed_out
        addresses = self.cluster.settings.bootstrap.addresses
        if isinstance(error, ConnectionFailed) and not self.cluster.reached and len(addresses) > 1:
            return ConnectionFailed(f"none of {', '.join(map(str, addresses))} can be reached; last error: {error}")
        return error


def _is_lost(errors: Collection[KconfError]) -> bool:
    """Whether no connection was possible."""
    return bool(errors) and all(isinstance(each, ConnectionFailed) for each in errors)


def _is_final(error: KconfError) -> bool:
    return isinstance(error, ConnectionFailed) and error.final
