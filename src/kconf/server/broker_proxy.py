"""The real brokers that this server answers for: those on the same ZooKeeper, or those behind a gateway.

Their dynamic configs are in the store. Their static configs and logger levels are not: the server reads them from the
brokers. Concurrent requests share one read of a broker, and the levels of its loggers are used for a second. If a
broker cannot be asked, requests about it fail: defaults in place of its static configs would be false.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kconf.engine.configs.alter import java_int
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    BrokerNotAvailable,
    ConnectionFailed,
    ErrorCode,
    KafkaError,
    RequestTimedOut,
    UpstreamUnavailable,
)
from kconf.model.alteration import AlterConfigOp
from kconf.model.entry import View, static_overrides
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.resource import Overrides, Resource

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.server.connection_context import Origin
    from kconf.server.upstream.client import UpstreamClient
    from kconf.service import Service, State

log = getLogger(__name__)

_TIMEOUT: Final = 5.0  # seconds for a broker to respond
_LOGGERS: Final = 1.0  # seconds for which the levels of loggers are used
_NONE: Final[Overrides] = {}

T = TypeVar("T")


class _SharedReads(Generic[T]):
    """Reads about brokers, by ID. Concurrent ones share a request. Its result is used for `seconds` from its start."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._reads: dict[int, tuple[float, asyncio.Task[T]]] = {}

    async def get(self, number: int, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        now = asyncio.get_running_loop().time()
        until, task = self._reads.get(number, (now, None))
        if task is None or (task.done() and now >= until):
            task = asyncio.create_task(read())
            self._reads[number] = now + self._seconds, task
            task.add_done_callback(partial(self._done, number))
        return await asyncio.shield(task)  # others may wait for it too

    def _done(self, number: int, task: asyncio.Task[T]) -> None:
        is_failed = task.cancelled() or task.exception() is not None
        if (is_failed or not self._seconds) and self._reads.get(number, (0.0, None))[1] is task:
            del self._reads[number]

    def forget(self, number: int) -> None:
        self._reads.pop(number, None)


class BrokerProxy:
    """Empty if there is no service or there are no brokers."""

    def __init__(self, service: Service | None = None, upstream: UpstreamClient | None = None) -> None:
        self._service, self._upstream = service, upstream
        self._static: dict[int, tuple[ClusterMember, Overrides]] = {}
        self._resolvers: dict[int, ConfigResolver] = {}
        self._static_reads: _SharedReads[ApiError | None] = _SharedReads(0.0)
        self._loggers: _SharedReads[View] = _SharedReads(_LOGGERS)

    @property
    def members(self) -> ClusterMembers:
        return NO_MEMBERS if self._service is None else self._service.store.members

    def find(self, name: str) -> int | None:
        """The id of a broker that this server answers for, by the name of its resource. It may be fenced."""
        number = java_int(name)
        return number if number in self.members.brokers or number in self.members.fenced else None

    def resolvers(self, state: State) -> Mapping[int, ConfigResolver]:
        """The resolver of each broker whose static configs are known.

        Brokers without a plaintext listener, which never show theirs to a server on their ZooKeeper, have defaults.
        """
        found: dict[int, ConfigResolver] = {}
        for number, broker in self.members.brokers.items():
            if number in self._static:
                found[number] = self._resolver(state, number, self._static[number][1])
            elif broker.plaintext is None:
                found[number] = self._resolver(state, number, _NONE)
        return found

    def resolver(self, state: State, number: int) -> ConfigResolver:
        """The resolver of one broker. Raises KafkaError if its static configs are unknown: it may have been fenced, or
        have joined, since they were requested.
        """
        found = self.resolvers(state).get(number)
        if found is None:
            raise _no_response(number).error()
        return found

    def _resolver(self, state: State, number: int, static: Overrides) -> ConfigResolver:
        base, snapshot = state.resolver, state.snapshot
        here = snapshot.overrides(Resource.broker(number))
        known = self._resolvers.get(number)
        if (
            known is None
            or known.static is not static
            or known.catalog is not base.catalog
            or known.everywhere is not base.everywhere
            or known.here is not here
        ):
            known = self._resolvers[number] = ConfigResolver(base.catalog, static, base.everywhere, here)
        return known

    async def load_static(self, numbers: Collection[int]) -> dict[int, ApiError]:
        """Read the static configs of brokers, unless they were read in the broker's current epoch.

        The epoch of a broker on ZooKeeper begins with its start. A gateway cannot see that, so it begins a new one with
        each reading of the members.

        Returns the error of each broker whose static configs are unknown.
        """
        brokers = self.members.brokers
        self._forget_others(brokers)
        unknown = [
            brokers[each] for each in numbers if each in brokers and self._static.get(each, (None,))[0] != brokers[each]
        ]
        failures = await asyncio.gather(
            *(self._static_reads.get(each.id, partial(self._load_static, each)) for each in unknown)
        )
        found = {broker.id: failure for broker, failure in zip(unknown, failures, strict=True) if failure is not None}
        return found | {each: _no_response(each) for each in numbers if each not in brokers}

    async def _load_static(self, broker: ClusterMember) -> ApiError | None:
        resource = Resource.broker(broker.id)
        try:
            view = await self._describe(broker, resource, synonyms=True)
        except (KafkaError, UpstreamUnavailable) as error:
            log.warning("cannot read the static configs of broker %d: %s", broker.id, error)
            return _unknown(broker, error)
        self._static[broker.id] = (broker, static_overrides(view))
        return None

    def _forget_others(self, brokers: Collection[int]) -> None:
        """Forget brokers that have left the cluster."""
        for gone in self._static.keys() - brokers:
            del self._static[gone]
            self._resolvers.pop(gone, None)
            self._loggers.forget(gone)

    async def _describe(self, broker: ClusterMember, resource: Resource, *, synonyms: bool = False) -> View:
        if self._upstream is not None:
            return await self._upstream.describe_configs(broker.id, resource, synonyms=synonyms, timeout=_TIMEOUT)
        async with self._client(broker) as client:
            return (await client.describe_configs([resource], synonyms=synonyms, timeout=_TIMEOUT))[resource]

    async def describe_loggers(self, number: int) -> View:
        """The loggers of a broker, as they were at most a second ago. Raises KafkaError."""
        broker = self._member(number)
        try:
            return await self._loggers.get(number, lambda: self._describe(broker, Resource.logger(number)))
        except (ConnectionFailed, RequestTimedOut, UpstreamUnavailable) as error:
            raise _unknown(broker, error).error() from None

    async def alter_loggers(
        self, principal: str, number: int, alterations: Sequence[AlterConfigOp], origin: Origin, *, validate_only: bool
    ) -> None:
        """Alter the loggers of a broker, all or none. Raises the broker's error.

        `origin` is the client whose turn it takes at a gateway's connections.
        """
        broker, resource = self._member(number), Resource.logger(number)
        try:
            if self._upstream is not None:
                await self._upstream.alter_loggers(number, principal, alterations, origin, validate_only=validate_only)
                return
            async with self._client(broker) as client:
                answer = await client.incremental_alter_configs({resource: alterations}, validate_only=validate_only)
                answer[resource]
        except UpstreamUnavailable as error:
            raise RequestTimedOut(
                f"broker {number} did not respond, so the log levels may have been changed; check them: {error}"
            ) from None
        finally:
            self._loggers.forget(number)

    def _member(self, number: int) -> ClusterMember:
        found = self.members.brokers.get(number)
        if found is None:
            raise _no_response(number).error()
        return found

    def _client(self, broker: ClusterMember) -> AdminClient:
        from kconf.client.admin import AdminClient

        if broker.plaintext is None:
            raise BrokerNotAvailable(f"broker {broker.id} has no listener without authentication")
        host, port = broker.plaintext
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return AdminClient(address, timeout=_TIMEOUT, connect_attempts=1)


def _unknown(broker: ClusterMember, error: KafkaError | UpstreamUnavailable) -> ApiError:
    """The error for a broker whose static configs cannot be read. Retriable if the broker does not respond."""
    if isinstance(error, ConnectionFailed | RequestTimedOut | AuthenticationFailed | UpstreamUnavailable):
        return _no_response(broker.id)
    return ApiError(error.code, f"the configs of broker {broker.id} cannot be read: {error}")


def _no_response(number: int) -> ApiError:
    return ApiError(
        ErrorCode.REQUEST_TIMED_OUT, f"broker {number} does not respond, so its configs are unknown; try again later"
    )
