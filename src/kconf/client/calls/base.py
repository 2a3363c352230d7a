"""A call represents one method call of the AdminClient, without I/O.

A call has items: resources, topics or entities; a call for the whole cluster has the single item None. It determines
the broker of each item, writes requests for some of the items, and reads responses into one outcome per item. Batching,
routing, retries and merging are the same for all calls (transport/call_runner.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from kconf.errors import (
    ApiError,
    BrokerNotAvailable,
    ConnectionFailed,
    ErrorCode,
    InvalidRequest,
    KafkaError,
    LocalProtocolError,
    RequestTimedOut,
)
from kconf.model.results import Results
from kconf.protocol.apis import BY_NAME, LIST_CONFIG_CHANGES, Api
from kconf.protocol.codec.serde import decode

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

ANY: Final = -1
CONTROLLER: Final = -2
EVERY: Final = -3
"""Special routes of an item. A route of 0 or more is a broker id."""

RETRIABLE: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)


_NO_FEATURES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({})


class NodeVersions(NamedTuple):
    """The name of a node, and its version ranges by API key and by feature."""

    name: str
    versions: Mapping[int, tuple[int, int]]
    features: Mapping[str, tuple[int, int]] = _NO_FEATURES

    @property
    def is_kconf(self) -> bool:
        """Whether the node has kconf's extensions. Other brokers would ignore their tagged fields."""
        return LIST_CONFIG_CHANGES in self.versions


class CallResult(NamedTuple):
    """One outcome per item, and the throttle time of the connection."""

    outcomes: Mapping[Any, Any]
    throttle_ms: int = 0


class Call(ABC, Generic[K, V, T]):
    """`min_version` is the lowest version that supports the call. `hint` is added to the error if a broker is older.

    A call that is not `repeatable` is not retried if its request may have arrived and the response was lost. If it
    `is_change`, a later error mentions such a request, since it may have been executed. With `node`, every request goes
    to this broker.

    With `forwarded`, a gateway sends the changes of its clients: all items for a node are in one request, which the
    controller writes as a whole. If requests to several nodes fail in different ways, each item gets its own error.

    If a quota is exceeded, a call waits for `longest_throttle` seconds at most. Otherwise, it fails at once with
    ThrottlingQuotaExceeded, and is not sent: a broker does not read a connection that it throttles.
    """

    name: ClassVar[str]
    route: ClassVar[int] = ANY
    min_version: int = 0
    hint: str = ""
    repeatable: bool = True
    is_change: bool = False
    batch_factor: int = 1  # multiplies the batch size of the settings
    node: int | None = None
    forwarded: bool = False
    longest_throttle: float = inf

    def __init__(self, items: Iterable[K]) -> None:
        self.items: Sequence[K] = tuple(items)

    @property
    def api(self) -> Api:
        return BY_NAME[self.name]

    @abstractmethod
    def write(self, node: NodeVersions, version: int, items: Sequence[K]) -> object:
        """The request for some of the items."""

    @abstractmethod
    def read(self, version: int, frame: bytes, start: int, items: Sequence[K]) -> CallResult:
        """The outcomes in a response whose body starts at `start`."""

    @abstractmethod
    def finish(self, outcomes: dict[K, V | ApiError]) -> T:
        """The result for the caller, from the outcomes of all items."""

    def route_of(self, item: K) -> int:
        return self.route

    def conflict_key(self, item: K) -> Hashable:
        """Items with the same key must not be in one request. None never conflicts."""
        return None

    def group(self, item: K) -> Hashable:
        """Only items of the same group may be in one request."""
        return None

    def fallback(self) -> Call[K, V, T] | None:
        """An alternative call for brokers without this API, or None."""
        return None

    def body(self, version: int, frame: bytes, start: int) -> Any:
        """The decoded response."""
        api = self.api
        return decode(api.response, version, api.is_flexible(version), frame, start, most=len(frame))


class PerItemCall(Call[K, V, Results[K, V]]):
    """A call with one result per item."""

    def finish(self, outcomes: dict[K, V | ApiError]) -> Results[K, V]:
        return Results(outcomes)


class ClusterCall(Call[None, T, T]):
    """A call for the whole cluster, which succeeds or fails as a whole."""

    def __init__(self) -> None:
        super().__init__((None,))

    def finish(self, outcomes: dict[None, T | ApiError]) -> T:
        outcome = outcomes[None]
        if isinstance(outcome, ApiError):
            raise outcome.error()
        return outcome


def api_error(code: int, message: str | None) -> ApiError:
    """The error of a response. An unknown code becomes -1, with its number in the message."""
    try:
        return ApiError(ErrorCode(code), message or None)
    except ValueError:
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"error {code}: {message or 'unknown to this client'}")


class Unsent(ApiError):
    """The error of an item that was not sent because no connection was possible. It can be sent again."""

    __slots__ = ()


class Unanswered(ApiError):
    """The error of an item that was sent and got no valid response. A change may have been made."""

    __slots__ = ()


def failure_of(error: Exception, *, sent: bool) -> ApiError:
    """The error of an item without a response. `sent`: a request with it may have been executed."""
    match error:
        case LocalProtocolError():
            return ApiError(ErrorCode.INVALID_REQUEST, str(error))
        case KafkaError():
            failure = error.failure()
        case _:
            failure = ApiError(ErrorCode.NETWORK_EXCEPTION, str(error) or type(error).__name__)
    if sent:
        return Unanswered(*failure)
    return Unsent(*failure) if isinstance(error, ConnectionFailed | RequestTimedOut | BrokerNotAvailable) else failure


def distinct(names: Iterable[K], what: str) -> list[K]:
    """The items of a call. Raises an error for repeated items."""
    listed = list(names)
    if len(set(listed)) < len(listed):
        twice = sorted({str(each) for each in listed if listed.count(each) > 1})
        raise InvalidRequest(f"{what} given twice: {', '.join(twice)}")
    return listed
