"""The interface of all stores.

A store is called from one thread at a time (the service has a thread for it) and may block. Everything that `commit`
returns is durable. registry.py maps URLs to stores; tests/contract runs against every store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, runtime_checkable

from kconf.configdef.key import ConfigDef
from kconf.errors import ApiError, RevisionConflict, StoreFailed
from kconf.model.journal import AuditEntry, Revision
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.plan import PendingCommit, Refusals
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import Secrets

MAX_ATTEMPTS = 100_000  # audit entries that a store retains
MAX_RESOURCES_PER_QUERY = 10_000


class PassedOn(NamedTuple):
    """The result of a commit that was sent to another cluster. `poll_remote` returns its revisions.

    Nothing was changed for the resources of `refusals`.
    """

    refusals: Refusals


class UnknownParts(NamedTuple):
    """The resource types and single resources that another cluster does not show, with its errors."""

    kinds: Mapping[ResourceType, ApiError]
    resources: Mapping[Resource, ApiError]

    def of(self, resource: Resource) -> ApiError | None:
        """Why the state of a resource is unknown, or None if it is known."""
        return self.kinds.get(resource.type) or self.resources.get(resource)


NOTHING_UNKNOWN: Final = UnknownParts({}, {})

STANDARD_AUTHORIZERS: Final = frozenset(
    [
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
    ]
)
"""Kafka's own authorizers, which use the cluster's ACLs."""

UNNAMED_AUTHORIZER: Final = "?"
"""The brokers have an authorizer, but do not show its class."""


class Polling(NamedTuple):
    """How a cluster is polled: the interval in seconds, the polled broker, and the last complete poll.

    `age` is the time since the start of that poll and `duration` its length, in seconds; None if there was none.
    """

    interval: float
    broker: int | None
    age: float | None
    duration: float | None


Publish = Callable[[Sequence[Revision]], None]
"""Makes revisions of others visible."""


class JournalReader(Protocol):
    """Reads the journal. Used from one thread, concurrently with the store's own."""

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        """See Store.changes."""
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
        """The last revision at or before this time, or 0 if there is none. Raises JournalTrimmed.

        If the clock was set back, earlier revisions may have later times; they count as committed before.
        """
        ...

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        """Attempts with a number greater than `after`, in order."""
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
        """Increases each time a cluster is copied to a new store. Revisions are ordered within an epoch."""
        ...

    @property
    def first_revision(self) -> int:
        """Lower revisions are those of another store. 0 if they may be valid. Constant."""
        ...

    def load(self) -> Snapshot:
        """The state at the last committed revision."""
        ...

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict | PassedOn]:
        """Make a whole batch durable at once, one revision per pending commit, in order.

        If a guard fails (the resource has changed after the guard's revision, also by an earlier commit of the batch),
        the result is a RevisionConflict, and the other commits are not affected. A commit without changes gets no
        revision number; its result is the previous revision, without changes. A store that sends commits to another
        cluster returns PassedOn for those that got a response. Raises StoreUnavailable if nothing could be written.
        """
        ...

    def one_per_batch(self, pending: PendingCommit) -> AbstractSet[Resource]:
        """The resources that no other commit of the batch may change, because the batch is one request to another
        cluster. Empty for a store with its own state. Thread-safe.
        """
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback`, from any thread, when another server may have committed, or the store is reachable again."""
        ...

    def publish_to(self, publish: Publish) -> None:
        """Call `publish`, from the store's thread, with revisions that `poll_remote` would return, while a commit waits
        for another cluster.
        """
        ...

    def poll_remote(self) -> Sequence[Revision]:
        """The revisions of other servers since the last call, in order, with sensitive values in clear text.

        After a commit, it includes everything before the last revision of that commit. It raises no errors: what cannot
        be read now is returned by a later call.
        """
        ...

    @property
    def is_reachable(self) -> bool:
        """Whether the store responds. While it does not, the loaded state may be stale."""
        ...

    @property
    def can_be_stale(self) -> bool:
        """Whether `is_reachable` can be False or `generation` can increase. Constant.

        If False, neither is checked: no response is marked as stale or refused because of `refuse.stale.reads`.
        """
        ...

    @property
    def generation(self) -> int:
        """Increases when changes by other servers may have been missed, before the store is reachable again."""
        ...

    @property
    def polled_generation(self) -> int:
        """The generation of the last complete `poll_remote` or `load`. Nothing of it was missed."""
        ...

    @property
    def keeps_fractions(self) -> bool:
        """Whether fractional quotas can be stored. Kafka's brokers read only whole numbers from ZooKeeper."""
        ...

    def join(self, member: ClusterMember) -> None:
        """Register this server with the other servers of this store, until it closes the store."""
        ...

    @property
    def members(self) -> ClusterMembers:
        """The registered servers and brokers, as last read. Thread-safe."""
        ...

    @property
    def brokers_static(self) -> Overrides | None:
        """The static configs of `described_broker`, from which topics inherit. None if it is not a gateway's store."""
        ...

    @property
    def described_broker(self) -> int | None:
        """The broker behind a gateway whose configs are used for all brokers. None if it is not a gateway's store."""
        ...

    @property
    def brokers_authorizer(self) -> str | None:
        """The authorizer class of the brokers behind a gateway. UNNAMED_AUTHORIZER if they do not show it. None if
        they have no authorizer, or if it is not a gateway's store.
        """
        ...

    @property
    def brokers_release(self) -> str | None:
        """The Kafka release of the brokers behind a gateway. None if it is not a gateway's store."""
        ...

    @property
    def brokers_keys(self) -> Mapping[ResourceType, ConfigDef]:
        """Additional keys of these brokers. The same object as long as they do not change."""
        ...

    @property
    def elr_version(self) -> int | None:
        """The cluster's level of eligible.leader.replicas.version, or None if it is not recorded."""
        ...

    @property
    def stale_reason(self) -> str | None:
        """Why another cluster cannot be changed now, or None. Thread-safe."""
        ...

    @property
    def brokers_problem(self) -> str | None:
        """Why another cluster's brokers cannot be asked now, or None. Thread-safe."""
        ...

    @property
    def outside_revisions(self) -> int:
        """The number of revisions of another cluster that were not made through this server."""
        ...

    @property
    def unknown(self) -> UnknownParts:
        """What another cluster does not show. The same object as long as it does not change. Thread-safe."""
        ...

    @property
    def polling(self) -> Polling | None:
        """How another cluster is polled, or None. Thread-safe."""
        ...

    @property
    def commit_timeout(self) -> float | None:
        """How many seconds another cluster has to respond to a change, so that clients do not give up first. None for a
        store with its own state.
        """
        ...

    def validate(self, pending: PendingCommit) -> Refusals:
        """Validate a commit with another cluster, without changes. Empty for a store with its own state.

        Thread-safe.
        """
        ...

    def refresh(self, resources: Collection[Resource]) -> None:
        """Read these resources of another cluster now, if they are otherwise read at intervals, and publish what has
        changed. If that fails, `stale_reason` has the reason.
        """
        ...

    @property
    def problem(self) -> StoreFailed | None:
        """Why the store cannot be used until it is repaired, or None. Thread-safe."""
        ...

    @property
    def faults(self) -> int:
        """The number of invalid entries in the store, which are ignored and logged."""
        ...

    @property
    def unreadable(self) -> Sequence[str]:
        """Values that cannot be read, by resource and key. `load` ignores them; they stay in the store."""
        ...

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        """Up to `limit` revisions after this one, in order, sensitive values redacted.

        Raises JournalTrimmed if the first of them has been removed from the journal.
        """
        ...

    def redact(self, revision: Revision) -> Revision:
        """A committed revision as in the journal, with sensitive values redacted."""
        ...

    def journal_reader(self) -> JournalReader:
        """A reader of the journal for another thread. It never delays a commit."""
        ...

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        """Store refused requests and dry runs. The newest `MAX_ATTEMPTS` are retained."""
        ...

    def oldest(self) -> int:
        """The oldest revision in the journal, or 1 if it is empty."""
        ...

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        """Delete the oldest revisions. Returns their number.

        Deletes revisions older than `before_time`, and all except the newest `keep_last`. Never deletes the newest
        revision, or any after `up_to`, the last archived one. A call may stop early to let commits run: call again
        until it returns 0.
        """
        ...

    def housekeep(self, *, notification_retention: float) -> bool:
        """Periodic maintenance, such as purging notifications older than `notification_retention` seconds.

        A call may stop early to let commits run: call again until it returns False. Raises StoreUnavailable.
        """
        ...

    def acquire_archive_lock(self) -> bool:
        """Acquire the lock of the archiver until the store is closed. Returns whether this server holds it.

        A store with a single server always returns True. With several servers, the lock may be lost: call again.
        """
        ...

    def close(self) -> None: ...


class OwnStateMixin:
    """Methods that are trivial for a store with its own state."""

    can_be_stale = True
    brokers_static: Overrides | None = None
    described_broker: int | None = None
    brokers_authorizer: str | None = None
    brokers_release: str | None = None
    brokers_keys: Mapping[ResourceType, ConfigDef] = MappingProxyType({})
    stale_reason: str | None = None
    brokers_problem: str | None = None
    outside_revisions = 0
    first_revision = 0
    unknown: UnknownParts = NOTHING_UNKNOWN
    polling: Polling | None = None
    elr_version: int | None = None
    commit_timeout: float | None = None

    def one_per_batch(self, pending: PendingCommit) -> AbstractSet[Resource]:
        return frozenset()

    def validate(self, pending: PendingCommit) -> Refusals:
        return {}

    def publish_to(self, publish: Publish) -> None:
        """Does nothing: commits do not wait for another cluster."""

    def refresh(self, resources: Collection[Resource]) -> None:
        """Does nothing: the state is not that of another cluster."""


class SingleServerMixin(OwnStateMixin):
    """Methods that are trivial for a store with a single server.

    A store behind a network overrides `is_reachable`, and `can_be_stale` with True.
    """

    can_be_stale = False
    faults = 0
    generation = 0
    polled_generation = 0
    keeps_fractions = True
    members: ClusterMembers = NO_MEMBERS

    @property
    def problem(self) -> StoreFailed | None:
        return None

    def on_change(self, callback: Callable[[], None]) -> None:
        """Does nothing: no other server commits."""

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
    """A store that records the features of its cluster. ZooKeeper stores do not."""

    @property
    def is_undecided(self) -> bool:
        """Whether no level is recorded yet: no server has started on this store."""
        ...

    def record_elr_version(self, level: int) -> None:
        """Record the level."""
        ...


def elr_version_of(store: Store) -> int:
    """The level of eligible.leader.replicas.version of a store's cluster. 0 if it is not recorded."""
    return store.elr_version or 0


class InitialIdentity(NamedTuple):
    """The identity of a copy of a store: the cluster id, and the next epoch."""

    cluster_id: str
    epoch: int


class Backup(NamedTuple):
    """A finished backup: its revision and size in bytes."""

    revision: int
    bytes: int


class StorePart(NamedTuple):
    """The result of checking one part of a store."""

    name: str
    detail: str
    problems: Sequence[str]


class Verification(NamedTuple):
    """The result of `kconf store verify`."""

    parts: Sequence[StorePart]

    @property
    def is_damaged(self) -> bool:
        return any(each.problems for each in self.parts)

    @property
    def is_state_damaged(self) -> bool:
        return any(each.problems for each in self.parts if each.name == "state")


@dataclass(frozen=True, slots=True)
class Backend:
    """One kind of store: the operations for the URLs of a scheme. See registry.py.

    `open` creates the store if there is none. `open_read_only` writes nothing at all; without it `open` is used.
    `initialize` creates an empty store with a given identity, visible to others when the block ends without an error.
    `backup` copies a store, also one in use, to a file: URL, target, whether to overwrite it. `open_damaged` opens a
    store whose state is whole, although its journal is damaged. `verify` checks a store for damage, also one in use.
    `bounded_journal`: the journal is trimmed by default, because the service behind the store, such as ZooKeeper, holds
    all data in memory. Not for `memory:`, the store of tests.
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
    """The conflict of the first resource that has changed after its guard's revision, or None."""
    for resource, seen in guards.items():
        if changed.get(resource, 0) > seen:
            return conflict(resource)
    return None


def conflict(resource: Resource) -> RevisionConflict:
    return RevisionConflict(f"{resource} has changed")
