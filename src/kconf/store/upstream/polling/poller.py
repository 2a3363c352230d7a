"""Follows a cluster without access to its controllers: polls one broker and compares.

Only one broker is polled, so that the state never goes back: a lagging broker shows changes later, but in order, and a
restarted one catches up before it responds. If the broker becomes unavailable, the state is stale until a broker has
been read completely; another broker is used only if it shows no older values. A lock covers reading and comparing. The
keys of a request are read before and after the request, and polls ignore them in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from logging import getLogger
from threading import Event, RLock, Thread
from typing import Any, Final, NamedTuple

from immutables import Map

from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.image import MetadataImage
from kconf.errors import ApiError, KafkaError, KconfError, StoreFailed, StoreUnavailable
from kconf.model.cluster import ClusterDescription
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.scram import shown_iterations
from kconf.model.snapshot import Snapshot
from kconf.store.base import Polling, UnknownParts
from kconf.store.upstream.authors.in_flight import NOTHING_IN_FLIGHT, KeysInFlight
from kconf.store.upstream.authors.matching import ExpectedChanges
from kconf.store.upstream.authors.outcomes import is_untouched
from kconf.store.upstream.brokers import other_cluster
from kconf.store.upstream.journal import Intent
from kconf.store.upstream.polling.polled_state import RecentChanges, about_known, changes_to, is_hidden, shown_value
from kconf.store.upstream.polling.reading import (
    KINDS,
    SLICE,
    Reading,
    StateReader,
    concerns_broker,
    is_unreachable,
    of_kind,
    read_all,
)
from kconf.store.upstream.source import CANNOT_READ, Shown, unexpected
from kconf.util.threads.awake_clock import AwakeClock

log = getLogger(__name__)

ORIGIN: Final = "outside"
RECENT: Final = 300.0
"""Seconds during which a broker that shows a former value counts as lagging."""

_START: Final = 30.0  # seconds for the first state
_RETRY: Final = 1.0  # seconds after a poll that failed
_OVERTAKEN: Final = 1.0  # seconds for our value to appear after another one
_PAUSE: Final = 0.002  # pause between slices in seconds, for waiting requests
_SLOWEST: Final = 0.2  # seconds between two checks for a requested change
_NOBODY: Final = RequestContext("")


class RecordedState(NamedTuple):
    """The state of the cluster in the journal, without the `unknown` kinds, and its time in milliseconds.

    `recent` are the latest changes, and `broker` is the broker that showed them. `imaged` is the revision of the image.
    """

    snapshot: Snapshot
    unknown: frozenset[ResourceType]
    time: int
    broker: int | None
    recent: Sequence[Revision]
    imaged: int


class Poller:
    """Polls in its own thread.

    `take` returns the changes; `on_change` is called, from any thread, when there are any.
    """

    problem: StoreFailed | None = None
    hidden: Collection[tuple[ResourceType, str]] = ()  # a describe marks the values that it does not show

    def __init__(
        self, reader: StateReader, cluster: str, recorded: RecordedState | None, interval: float, first: int = 1
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.imaged = None if recorded is None else recorded.imaged
        self.polled = 0 if recorded is None else recorded.time  # start of the last poll, in milliseconds
        self.unknown = UnknownParts({}, {})
        self.interval = interval
        self._reader, self._cluster = reader, cluster
        self._recorded = recorded
        self._snapshot = Snapshot(first) if recorded is None else recorded.snapshot
        self._recent = RecentChanges(RECENT)
        for each in () if recorded is None else recorded.recent:
            self._recent.add(each, time.monotonic() - max(0.0, time.time() - each.time / 1000))
        self._revisions: list[Revision] = []
        self._in_flight = NOTHING_IN_FLIGHT
        self._node = None if recorded is None else recorded.broker
        self._has_begun = False
        self._is_sure = False  # whether the broker shows no older values
        self._begun_at = self._done_at = 0.0
        self._clock = AwakeClock()
        self._clocked_at = 0.0  # end of the last poll, by `_clock`
        self._error: KconfError | None = None
        self._lock = RLock()
        self._wake, self._closed = Event(), Event()
        self._thread = Thread(target=self._run, name="kconf-poll", daemon=True)

    def start(self) -> None:
        deadline = time.monotonic() + _START
        while not self._is_sure:
            try:
                self._find_broker()
            except StoreUnavailable as error:
                if time.monotonic() > deadline:
                    raise
                log.warning("%s", error)
                time.sleep(_RETRY)
        self._clock.start()
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether a poll was completed recently, in time in which this process was running."""
        late = max(3 * self.interval, self.interval + 10)
        return self._is_sure and self._clock.now() - self._clocked_at < late

    is_certain = True

    @property
    def stale_reason(self) -> str | None:
        if self.is_current:
            return None
        return CANNOT_READ if self._error is None else f"{CANNOT_READ}: {self._error}"

    @property
    def is_read(self) -> bool:
        return self.is_current

    @property
    def applied(self) -> int:
        return self._snapshot.revision + 1

    @property
    def polling(self) -> Polling:
        if not self._done_at:
            return Polling(self.interval, self._node, None, None)
        age, duration = time.monotonic() - self._begun_at, self._done_at - self._begun_at
        return Polling(self.interval, self._node, age, duration)

    # Changes

    def take(self, held: KeysInFlight = NOTHING_IN_FLIGHT) -> list[Revision]:
        with self._lock:
            count = held.count_settled(self._revisions)
            found, self._revisions = self._revisions[:count], self._revisions[count:]
            return found

    def take_all(self) -> tuple[Snapshot, list[Revision]]:
        with self._lock:
            return replace(self._snapshot, changed=Map()), self.take()

    def take_image(self) -> tuple[int, dict[str, Any], list[Revision]]:
        with self._lock:
            snapshot = self._snapshot
            configs = {each: dict(values) for each, values in snapshot.configs.items()}
            image = MetadataImage.restore(snapshot.topics.values(), configs, {}, {})
            facts = Checkpoint(self._cluster, snapshot.revision, 0, image).to_json()
            facts["unknown"] = [each.word for each in self.unknown.kinds]
            return snapshot.revision, facts, self.take()

    def _merge(self, reading: Reading, *, own: bool = False) -> None:
        """Apply a reading to the state. Keys in flight are ignored, unless it was read after their request (`own`)."""
        for changes in changes_to(self._snapshot, reading, NOTHING_IN_FLIGHT if own else self._in_flight):
            self._add(changes)
        read = {*reading.configs, *map(Resource.topic, reading.topics)}
        refused = {name: each for name, each in self.unknown.resources.items() if name not in read}
        refused |= reading.refused
        if refused != self.unknown.resources:
            for each in refused.keys() - self.unknown.resources.keys():
                log.warning("cannot read the configs of %s: %s", each, refused[each])
            self.unknown = self.unknown._replace(resources=refused)

    def _add(self, changes: Sequence[Change]) -> None:
        number = self._snapshot.revision + 1
        not_before = self.polled or None
        revision = Revision(number, _now(), _NOBODY, tuple(changes), ORIGIN, not_before=not_before)
        self._snapshot = self._snapshot.apply(changes, number)
        self._recent.add(revision, time.monotonic())
        self._revisions.append(revision)

    # Polls

    def _run(self) -> None:
        while not self._closed.is_set():
            self._wake.wait(self.interval if self._is_sure else min(_RETRY, self.interval))
            self._wake.clear()
            if not self._closed.is_set():
                self._step()
        self._reader.close()

    def _step(self) -> None:
        before = self.is_current, self.unknown, self._snapshot.revision
        try:
            if self._is_sure:
                self._poll()
            else:
                self._find_broker()
        except KconfError as error:
            self._lose(error)
            return
        except Exception as error:
            self._lose(unexpected(error))
            return
        if before != (True, self.unknown, self._snapshot.revision):  # others may have taken the revisions already
            self.on_change()

    def _poll(self) -> None:
        node, begun, begun_at = self._node, _now(), time.monotonic()
        assert node is not None
        with self._lock:
            cluster, listed = self._read_cluster(node), self._reader.list_topics(node)
        names = sorted({*listed, *self._snapshot.topics})
        for start in range(0, len(names), SLICE):
            part = names[start : start + SLICE]
            with self._lock:
                known = _agreeing(part, listed, self._snapshot)
                self._merge(self._reader.topics(node, part, known))
            self._closed.wait(_PAUSE)
        for kind in KINDS:
            if kind not in self.unknown.kinds:
                with self._lock:
                    self._merge(self._reader.kind(node, kind, of_kind(self._snapshot, kind), cluster))
        self._completed(begun, begun_at)

    def _read_cluster(self, node: int | None) -> ClusterDescription:
        """The cluster. Raises StoreUnavailable if the addresses now lead to another one."""
        found = self._reader.cluster(node)
        if found.cluster_id != self._cluster:
            raise StoreUnavailable(other_cluster(found.cluster_id, self._cluster))
        return found

    def _completed(self, begun: int, begun_at: float) -> None:
        with self._lock:
            self.polled, self._begun_at, self._done_at = begun, begun_at, time.monotonic()
            self._clocked_at = self._clock.now()
            if self._error is not None:
                log.warning("polling broker %s again", self._node)
            self._error = None

    def _lose(self, error: KconfError) -> None:
        """Mark the state as stale, until a broker is found that does not lag."""
        with self._lock:
            is_new = str(self._error) != str(error)
            self._error, self._is_sure = error, False
        if is_new:
            log.error("cannot read the state of the cluster: %s", error)
            self._wake.set()
        self.on_change()

    # The polled broker

    def _find_broker(self) -> None:
        """Read a broker completely: the previous one if it is available, otherwise another. Raises KconfError."""
        begun, begun_at = _now(), time.monotonic()
        cluster = self._read_cluster(None)
        problem: KconfError = StoreUnavailable("the cluster has no brokers now")
        for node in sorted(cluster.nodes, key=lambda each: (each != self._node, each)):
            try:
                reading, refused = read_all(
                    self._reader, node, cluster, self._snapshot, self.unknown.kinds, may_refuse=not self._has_begun
                )
            except KafkaError as error:
                problem = error
                continue
            with self._lock:
                older = None
                if node != self._node:
                    older = self._recent.older(self._snapshot, reading, time.monotonic())
                if older is None:
                    self._use(node, reading, refused)
                    self._completed(begun, begun_at)
                    return
            name = " ".join(map(str, older)).rstrip()
            problem = StoreUnavailable(f"broker {node} lags: it shows an earlier value of {name}")
        raise StoreUnavailable(str(problem)) if is_unreachable(problem) else problem

    def _use(self, node: int, reading: Reading, kinds: Mapping[ResourceType, ApiError]) -> None:
        if not self._has_begun:
            self._begin(reading, kinds)
        if node != self._node or not self._has_begun:
            log.info("polling broker %d every %g s", node, self.interval)
        self._node, self._is_sure, self._has_begun = node, True, True
        self._merge(reading)

    def _begin(self, reading: Reading, kinds: Mapping[ResourceType, ApiError]) -> None:
        """Start with a reading. Kinds that the journal does not contain yet are taken over without changes."""
        for kind, failure in kinds.items():
            log.warning("cannot read resources of type %s: %s; requests about them fail", kind.word, failure)
        self.unknown = UnknownParts(kinds, {})
        known = self._snapshot
        if self._recorded is None:
            existing = {name: each for name, each in reading.topics.items() if each is not None}
            set_values = {each: values for each, values in reading.configs.items() if values}
            self._snapshot = Snapshot.of(known.revision, Map(existing), Map(set_values), Map())
            return
        kept = {each: values for each, values in known.configs.items() if each.type not in kinds}
        new = {
            each: values
            for each, values in reading.configs.items()
            if values and each.type in self._recorded.unknown and each.type not in kinds
        }
        self._snapshot = replace(known, configs=Map({**kept, **new}))

    # Requests of the gateway itself

    def refresh(self, resources: Collection[Resource]) -> None:
        with self._lock, suppress(KconfError):
            self._read_some(resources)

    def begin_requests(self, keys: KeysInFlight) -> None:
        with self._lock:
            self._read_some(keys.resources)
            self._in_flight = keys

    def end_requests(self) -> None:
        with self._lock:
            self._in_flight = NOTHING_IN_FLIGHT

    def wait_for(self, expected: ExpectedChanges, timeout: float) -> Shown:
        """Read the resources of requests until the broker shows the changes.

        If a broker shows neither the old nor the new value, it lags or another client changed the key: our value
        appears soon or never.
        """
        deadline, delay, overtaken_at = time.monotonic() + timeout, 0.002, 0.0
        while not self._closed.is_set():
            with self._lock:
                if expected.are_in(self._revisions):
                    return Shown.SHOWN
                try:
                    self._read_some(expected.resources, expected)
                except KconfError:
                    return Shown.UNREAD
                if expected.are_in(self._revisions):
                    return Shown.SHOWN
                is_overtaken = self._is_overtaken(expected)
            now = time.monotonic()
            overtaken_at = (overtaken_at or now) if is_overtaken else 0.0
            if now > deadline or (is_overtaken and now - overtaken_at > _OVERTAKEN):
                return Shown.DIFFERENT
            time.sleep(delay)
            delay = min(2 * delay, _SLOWEST)
        return Shown.UNREAD

    def catch_up(self, end: int | None, expected: ExpectedChanges) -> None:
        with self._lock, suppress(KconfError):
            self._read_some(expected.resources, expected)

    def _read_some(self, resources: Collection[Resource], expected: ExpectedChanges | None = None) -> None:
        if not self._is_sure or self._node is None:
            raise StoreUnavailable("the state of the cluster may be stale")
        try:
            reading = about_known(self._reader.some(self._node, resources), self._snapshot)
        except KconfError as error:
            if concerns_broker(error):
                self._lose(error)
            raise
        self._merge(reading, own=expected is not None)
        if expected is not None:
            self._add_unseen(expected, reading)

    def _add_unseen(self, expected: ExpectedChanges, reading: Reading) -> None:
        """Add acknowledged changes that a poll cannot detect: a key set to the same value, or a sensitive value."""
        seen = {(change.resource, change.key) for each in self._revisions for change in each.changes}
        for change in expected.changes:
            if change.kind is not ChangeKind.CONFIG or (change.resource, change.key) in seen:
                continue
            values = reading.configs.get(change.resource)
            if values is None:
                continue
            value = values.get(change.key)
            hidden = value is not None and is_hidden(change.resource, value)
            op = "set" if hidden else "rewrite"
            same = Change(ChangeKind.CONFIG, change.resource, change.key, value, value, op, hidden)
            is_shown = shown_iterations(value) == shown_iterations(change.after)
            if expected.is_candidate(same) and is_shown and change.before is not None:
                self._add([same])

    def _is_overtaken(self, expected: ExpectedChanges) -> bool:
        """Whether a key has changed to another value than expected."""
        return any(expected.is_other_value(change) for each in self._revisions for change in each.changes)

    def shown(self, change: Change) -> str | None:
        return shown_value(change)

    def unshown(self, shown: Shown) -> str | None:
        return (
            f"the cluster accepted the change, but broker {self._node} does not show it: the broker lags, or another"
            " client changed the same key; check before you try again"
        )

    def is_untouched(self, intent: Intent) -> bool:
        return is_untouched(intent, self._snapshot)

    def close(self) -> None:
        self._closed.set()
        self._clock.close()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_START)
        else:
            self._reader.close()


def _agreeing(names: Sequence[str], listed: Mapping[str, Topic | ApiError], snapshot: Snapshot) -> dict[str, Topic]:
    """The topics that are listed as in the snapshot."""
    known = {name: snapshot.topics.get(name) for name in names}
    return {name: topic for name, topic in known.items() if topic is not None and listed.get(name) == topic}


def _now() -> int:
    return int(time.time() * 1000)
