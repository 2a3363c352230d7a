"""A call: one method of the AdminClient as a value, with no I/O in it.

A call is about items (resources, topics, entities; a call about nothing in particular has one, None). It knows which
broker each item is for, how a request about some of them is written in a version, and how an answer is read into one
outcome per item. Splitting, spreading, retrying and merging are the same for all of them (`conduct.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from kconf.errors import ApiError, ErrorCode, InvalidRequest, Results
from kconf.protocol.apis import BY_NAME, LIST_CONFIG_CHANGES, Api
from kconf.protocol.codec.serde import decode

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

ANY: Final = -1
CONTROLLER: Final = -2
EVERY: Final = -3
"""Where an item goes; a number of zero or more is a broker's id."""

RETRIABLE: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)


class NodeVersions(NamedTuple):
    """What is known of the other end of a line: what it calls itself, and the versions that it speaks."""

    name: str
    versions: Mapping[int, tuple[int, int]]

    @property
    def is_kconf(self) -> bool:
        """Whether it has our extensions: tags that a real broker would ignore are sent to no other."""
        return LIST_CONFIG_CHANGES in self.versions


class CallResult(NamedTuple):
    """An outcome per item, and how long the broker will not listen to us."""

    outcomes: Mapping[Any, Any]
    throttle_ms: int = 0


class Call(ABC, Generic[K, V, T]):
    """`least` is the oldest version that can say what is meant, `advice` what to tell where a broker has it not.

    A call that is not `repeatable` is not sent again where its request may have arrived and its answer was lost.
    """

    name: ClassVar[str]
    route: ClassVar[int] = ANY
    least: int = 0
    advice: str = ""
    repeatable: bool = True
    bulk: int = 1  # times what the settings say may be in a request

    def __init__(self, items: Iterable[K]) -> None:
        self.items: Sequence[K] = tuple(items)

    @property
    def api(self) -> Api:
        return BY_NAME[self.name]

    @abstractmethod
    def write(self, peer: NodeVersions, version: int, items: Sequence[K]) -> object:
        """The request about some of the items."""

    @abstractmethod
    def read(self, version: int, frame: bytes, start: int, items: Sequence[K]) -> CallResult:
        """The outcomes in an answer whose body begins at `start`."""

    @abstractmethod
    def finish(self, outcomes: dict[K, V | ApiError]) -> T:
        """What the caller gets, once every item has its outcome."""

    def route_of(self, item: K) -> int:
        return self.route

    def apart(self, item: K) -> Hashable:
        """Items with the same mark may not share a request; None: this one may share with any."""
        return None

    def group(self, item: K) -> Hashable:
        """Only items of one group may share a request."""
        return None

    def otherwise(self) -> Call[K, V, T] | None:
        """Another way to ask, for brokers that do not have this API."""
        return None

    def body(self, version: int, frame: bytes, start: int) -> Any:
        """The answer, decoded."""
        api = self.api
        return decode(api.response, version, api.is_flexible(version), frame, start, most=len(frame))


class PerItemCall(Call[K, V, Results[K, V]]):
    """A call with one result per item."""

    def finish(self, outcomes: dict[K, V | ApiError]) -> Results[K, V]:
        return Results(outcomes)


class ClusterCall(Call[None, T, T]):
    """A call about nothing in particular: what fails, fails as a whole."""

    def __init__(self) -> None:
        super().__init__((None,))

    def finish(self, outcomes: dict[None, T | ApiError]) -> T:
        outcome = outcomes[None]
        if isinstance(outcome, ApiError):
            raise outcome.error()
        return outcome


def failure(code: int, message: str | None) -> ApiError:
    """What an error code in an answer means; one that we do not know is -1, with its number in the message."""
    try:
        return ApiError(ErrorCode(code), message or None)
    except ValueError:
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"error {code}: {message or 'unknown to this client'}")


def distinct(names: Iterable[K], what: str) -> list[K]:
    """The items of a call that may name each but once."""
    listed = list(names)
    if len(set(listed)) < len(listed):
        twice = sorted({str(each) for each in listed if listed.count(each) > 1})
        raise InvalidRequest(f"{what} given twice: {', '.join(twice)}")
    return listed
