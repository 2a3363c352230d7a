"""The contract of every store.

A store is called from one thread at a time (the service gives it a thread of its own) and may block. Everything that
`commit` returns is durable. registry.py maps URLs to stores; tests/contract runs against every store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol, runtime_checkable

from kconf.errors import ApiError, RevisionConflict, StoreFailed
from kconf.model.journal import AuditEntry, Revision
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.plan import PendingCommit, Refusals
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import Secrets

MAX_ATTEMPTS = 100_000  # that a store retains
MAX_RESOURCES_PER_QUERY = 10_000


class PassedOn(NamedTuple):
    """A pending commit that went to another cluster: `poll_remote` has the revisions that it led to.

    Nothing was changed for the resources of `refusals`.
    """

    refusals: Refusals


class UnknownParts(NamedTuple):
    """What another cluster refuses to show, and its error: whole kinds of resources, and single ones."""

    kinds: Mapping[ResourceType, ApiError]
    resources: Mapping[Resource, ApiError]

    def of(self, resource: Resource) -> ApiError | None:
        """Why the state of a resource is not known; None: it is."""
        return self.kinds.get(resource.type) or self.resources.get(resource)


NOTHING_UNKNOWN: Final = UnknownParts({}, {})


class Polling(NamedTuple):
    """How a cluster is polled: the interval in seconds, the broker that is read, and the last complete poll.

    `age` is how many seconds ago that poll began, `duration` how long it took; None: there was none.
    """

    interval: float
    broker: int | None
    age: float | None
    duration: float | None


class JournalReader(Protocol):
    """Reads the journal. Used from one thread, concurrently with the store's own."""

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        """As Store.changes."""
        ...

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        """Up to `limit` revisions after this one that changed any of these resources, complete and in order.

        Takes at most `MAX_RESOURCES_PER_QUERY` resources. Raises JournalTrimmed as `changes` does.
        """
        ...

    def reverse_changes(self, resources: Collection[Resource], after: int) -> Iterator[Revision]:
        """Everything that `changes_for` would return, newest first, one at a time.

        Nothing else may be read until the iterator is exhausted or closed.
        """
        ...

    def revision_at(self, time: int) -> int:
        """The last revision with this time or an earlier one, 0 if there is none; raises JournalTrimmed.

        Where the clock was set back, earlier revisions have later times: they count as committed before it.
        """
        ...

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        """Attempts with a number greater than this, in order."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """Stores the state and the journal, always consistent with each other."""

    @property
    def url(self) -> str: ...

    @property
    def cluster_id(self) -> str:
        """Generated when the store is created; never changes."""
        ...

    @property
    def epoch(self) -> int:
        """Counts the stores that a cluster has been moved through. Revisions are ordered within an epoch."""
        ...

    def load(self) -> Snapshot:
        """The state at the last committed revision."""
        ...

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict | PassedOn]:
        """Make a whole batch durable at once, one revision per pending commit, in order.

        A pending commit whose guard does not hold (the resource changed after the guard's revision, earlier commits of
        the batch included) is left out and its result is a RevisionConflict; the others are not affected. One without
        changes takes no revision number; its result is the revision that it follows, without changes. A store that
        passes commits on to another cluster returns PassedOn for those that it has an answer to.
        Raises StoreUnavailable if nothing could be written.
        """
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback`, from any thread, when another server may have committed, or the store is reachable again."""
        ...

    def poll_remote(self) -> Sequence[Revision]:
        """What other servers have committed since the last call, in order, with sensitive values in clear text.

        After a commit it includes everything before the last revision of that commit. It does not raise: what cannot
        be read now is returned by a later call.
        """
        ...

    @property
    def is_reachable(self) -> bool:
        """Whether the store responds. While it does not, the loaded state may be stale."""
        ...

    @property
    def generation(self) -> int:
        """Increases whenever changes of other servers may have been missed, before the store is reachable again."""
        ...

    @property
    def polled_generation(self) -> int:
        """The generation that the last complete `poll_remote` or `load` belongs to: nothing of it was missed."""
        ...

    @property
    def keeps_fractions(self) -> bool:
        """Whether a quota of 100.5 bytes per second can be stored: Kafka's brokers read whole numbers only."""
        ...

    def join(self, member: ClusterMember) -> None:
        """Register this server with the other servers of this store, until it closes the store."""
        ...

    @property
    def members(self) -> ClusterMembers:
        """The registered servers and brokers, as last read. Safe to call from any thread."""
        ...

    @property
    def brokers_static(self) -> Overrides | None:
        """The static configs of the brokers whose state this is; None: they are those of this server."""
        ...

    @property
    def brokers_release(self) -> str | None:
        """The Kafka release whose keys these brokers have; None: they are those of this server."""
        ...

    @property
    def elr_version(self) -> int | None:
        """The cluster's level of eligible.leader.replicas.version; None: it was never recorded, or cannot be."""
        ...

    @property
    def outside_revisions(self) -> int:
        """How many revisions of another cluster did not come through this server."""
        ...

    @property
    def unknown(self) -> UnknownParts:
        """What another cluster refuses to show. Safe to call from any thread."""
        ...

    @property
    def polling(self) -> Polling | None:
        """How another cluster is polled; None: it is not. Safe to call from any thread."""
        ...

    def validate(self, pending: PendingCommit) -> Refusals:
        """What another cluster would refuse of it; nothing is changed. Empty for a store that decides by itself."""
        ...

    @property
    def problem(self) -> StoreFailed | None:
        """Why the store cannot be used until it is repaired. Safe to call from any thread."""
        ...

    @property
    def faults(self) -> int:
        """How many entries of the store are invalid and were left out; the log names them."""
        ...

    @property
    def unreadable(self) -> Sequence[str]:
        """The values that cannot be read, by resource and key. `load` leaves them out; they stay in the store."""
        ...

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        """Up to `limit` revisions after this one, in order, sensitive values redacted.

        Raises JournalTrimmed if the journal no longer has the first of them.
        """
        ...

    def redact(self, revision: Revision) -> Revision:
        """A committed revision as it is in the journal: sensitive values redacted."""
        ...

    def journal_reader(self) -> JournalReader:
        """A reader of the journal for another thread; it never delays a commit."""
        ...

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        """Store requests that were refused or dry runs. The newest `MAX_ATTEMPTS` are retained."""
        ...

    def oldest(self) -> int:
        """The first revision that is still in the journal; 1 if it is empty."""
        ...

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        """Delete the oldest revisions; returns how many.

        Deletes everything up to the last one with a time before `before_time`, and all but the newest `keep_last`.
        Never deletes the newest revision, nor any after the revision `up_to`, the last one in the archive. A call may
        stop early to let commits through: call again until it returns 0.
        """
        ...

    def housekeep(self, *, notification_retention: float) -> bool:
        """Periodic maintenance, such as purging notifications older than so many seconds; raises StoreUnavailable.

        A call may stop early to let commits through: call again until it returns False.
        """
        ...

    def acquire_archive_lock(self) -> bool:
        """Whether this server archives the cluster: it acquires or holds the lock, until the store is closed.

        A store with a single server always returns True. With several servers, the lock may be lost: call again.
        """
        ...

    def close(self) -> None: ...


class OwnStateMixin:
    """The parts of the contract that are trivial for a store that has the state itself."""

    brokers_static: Overrides | None = None
    brokers_release: str | None = None
    outside_revisions = 0
    unknown: UnknownParts = NOTHING_UNKNOWN
    polling: Polling | None = None
    elr_version: int | None = None

    def validate(self, pending: PendingCommit) -> Refusals:
        return {}


class SingleServerMixin(OwnStateMixin):
    """The parts of the contract that are trivial for a store with a single server."""

    faults = 0
    generation = 0
    polled_generation = 0
    keeps_fractions = True
    members: ClusterMembers = NO_MEMBERS

    @property
    def problem(self) -> StoreFailed | None:
        return None

    def on_change(self, callback: Callable[[], None]) -> None:
        """There is no other server that could commit."""

    def poll_remote(self) -> Sequence[Revision]:
        return ()

    @property
    def is_reachable(self) -> bool:
        return True

    @property
    def unreadable(self) -> Sequence[str]:
        return ()

    def join(self, member: ClusterMember) -> None:
        self.members = ClusterMembers({member.id: member}, {})

    def housekeep(self, *, notification_retention: float) -> bool:
        return False

    def acquire_archive_lock(self) -> bool:
        return True


@runtime_checkable
class FeatureStore(Protocol):
    """A store that records which features its cluster was initialized with. Kafka's layout in ZooKeeper has none."""

    @property
    def is_undecided(self) -> bool:
        """Whether the level is still to be chosen: no server has started on this store yet."""
        ...

    def record_elr_version(self, level: int) -> None:
        """Record it, for good."""
        ...


def elr_version_of(store: Store) -> int:
    """The level of eligible.leader.replicas.version of a store's cluster; 0: eligible leader replicas are disabled."""
    return store.elr_version or 0


class InitialIdentity(NamedTuple):
    """What a copy of a store takes over: the cluster id, and the epoch after the source's."""

    cluster_id: str
    epoch: int


class Backup(NamedTuple):
    """A finished backup: the store as of `revision`, `bytes` long."""

    revision: int
    bytes: int


class StorePart(NamedTuple):
    """One part of a store that was checked. Without problems it is whole."""

    name: str
    detail: str
    problems: Sequence[str]


class Verification(NamedTuple):
    """What `kconf store verify` found."""

    parts: Sequence[StorePart]

    @property
    def is_damaged(self) -> bool:
        return any(each.problems for each in self.parts)

    @property
    def is_state_damaged(self) -> bool:
        return any(each.problems for each in self.parts if each.name == "state")


@dataclass(frozen=True, slots=True)
class Backend:
    """One kind of store: what can be done with the URLs of a scheme. See registry.py.

    `open` creates the store if there is none. `open_read_only` writes nothing at all; without it `open` is used.
    `initialize` creates an empty store with a given identity, visible to others when the block ends without an error.
    `backup` copies a store, also one in use, to a file: URL, target, whether to overwrite it.
    `open_damaged` opens a store whose state is whole, although its journal is damaged.
    `verify` checks a store for damage, also one in use.
    `bounded_journal`: the store holds its data in memory, so the journal needs a limit by default.
    """

    open: Callable[[str, Secrets], Store]
    open_read_only: Callable[[str, Secrets], Store] | None = None
    initialize: Callable[[str, InitialIdentity, Secrets], AbstractContextManager[Store]] | None = None
    backup: Callable[[str, Path, bool], Backup] | None = None
    open_damaged: Callable[[str, Secrets], Store] | None = None
    verify: Callable[[str], Verification] | None = None
    bounded_journal: bool = False


class LastChanges(Protocol):
    """The revision of each resource's last change."""

    def get(self, resource: Resource, default: int, /) -> int: ...


def find_conflict(guards: Mapping[Resource, int], changed: LastChanges) -> RevisionConflict | None:
    """The conflict of the first resource that changed after its guard's revision."""
    for resource, seen in guards.items():
        if changed.get(resource, 0) > seen:
            return conflict(resource)
    return None


def conflict(resource: Resource) -> RevisionConflict:
    return RevisionConflict(f"{resource} has changed")
