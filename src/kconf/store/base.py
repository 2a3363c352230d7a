"""The contract of every keeper, and how one is opened.

A store is called from one thread at a time (the service gives it a thread of its own) and may block. Everything that
`commit` returns is durable. tests/contract holds every keeper to this page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kconf.errors import ConfigurationError, RevisionConflict
from kconf.model.journal import AuditEntry, Revision
from kconf.model.membership import NOBODY, Member, Members
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import NO_SECRETS, Secrets


class LastChanges(Protocol):
    """The revision of each resource's last change."""

    def get(self, resource: Resource, default: int, /) -> int: ...


MOST_ATTEMPTS = 100_000
MOST_NAMED = 10_000  # resources in one question to a reader


class JournalReader(Protocol):
    """Reads what was committed. Used from one thread, beside the store's own."""

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        """As Store.changes."""
        ...

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        """Up to `limit` revisions after this one that changed any of these (at most `MOST_NAMED`), whole, in order.

        Raises JournalTrimmed as `changes` does.
        """
        ...

    def reverse_changes(self, resources: Collection[Resource], after: int) -> Iterator[Revision]:
        """All of what `about` would find, the newest first, one at a time; nothing else is read meanwhile."""
        ...

    def revision_at(self, time: int) -> int:
        """The last revision committed no later than a time, 0 where there is none; raises JournalTrimmed."""
        ...

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        """Attempts with a greater number than this, in order."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """Keeps the state and the journal, always in step with each other."""

    @property
    def url(self) -> str: ...

    @property
    def cluster_id(self) -> str:
        """Made when the store is, and never changed."""
        ...

    @property
    def epoch(self) -> int:
        """Counts the stores that a cluster has lived in: revisions are in order within one, and epochs among them."""
        ...

    def load(self) -> Snapshot:
        """The state at the last committed revision."""
        ...

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        """Make all of a batch durable at once, one revision per draft, in order.

        A draft whose guard no longer holds (the resource's last change is later than the revision named, earlier drafts
        of the batch included) is left out and answered by a RevisionConflict; the others are not affected. A draft
        without changes takes no revision and is answered by the revision it was committed after, without changes.
        Raises StoreUnavailable when nothing could be written.
        """
        ...

    def follow(self, wake: Callable[[], None]) -> None:
        """Call `wake`, from any thread, whenever another server may have committed something, or the keeper is back."""
        ...

    def poll_remote(self) -> Sequence[Revision]:
        """What other servers have committed since the last call, in order and unsealed.

        After a commit it has all that came before the last revision of that commit. It does not fail: what cannot be
        read now comes with a later call.
        """
        ...

    @property
    def is_reachable(self) -> bool:
        """Whether the keeper answers now. Where it does not, what is known may be stale."""
        ...

    def join(self, member: Member) -> None:
        """Tell the other servers of this store that this one is there, for as long as it is."""
        ...

    @property
    def members(self) -> Members:
        """Who is there, as far as is known. It may be asked from any thread."""
        ...

    @property
    def faults(self) -> int:
        """How many things the keeper holds that cannot be used, and were left out; the log names them."""
        ...

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        """Up to `limit` revisions after this one, in order, sensitive values sealed.

        Raises JournalTrimmed when the journal no longer reaches back to the first of them.
        """
        ...

    def redact(self, revision: Revision) -> Revision:
        """A committed revision as the journal has it: sensitive values sealed."""
        ...

    def reader(self) -> JournalReader:
        """A reader of the journal for another thread; it never makes a commit wait."""
        ...

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        """Keep what was refused or only tried; the newest `MOST_ATTEMPTS` stay."""
        ...

    def oldest(self) -> int:
        """The first revision that the journal still has; 1 before there is any."""
        ...

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        """Forget the oldest revisions, and say how many.

        Those go that stand before the first one as late as `before_time`, and all but the newest `keep_last`; the
        newest one always stays, and so does everything after the revision `up_to`, which is as far as the archive
        reaches. A call may stop early to let commits through: call again until it says 0.
        """
        ...

    def housekeep(self) -> bool:
        """Do what is due now and then, such as purging what all have read; raises StoreUnavailable.

        A call may stop early to let commits through: call again until it says False.
        """
        ...

    def acquire_archive_lock(self) -> bool:
        """Whether this server is the one that archives the cluster, from now until it closes the store or is told
        otherwise by another call. A store that has one server says yes; one that has many keeps a lock for it.
        """
        ...

    def close(self) -> None: ...


class SingleServerMixin:
    """What a store need not do that one server has for itself."""

    faults = 0
    members: Members = NOBODY

    def follow(self, wake: Callable[[], None]) -> None:
        """Nobody else can commit."""

    def poll_remote(self) -> Sequence[Revision]:
        return ()

    @property
    def is_reachable(self) -> bool:
        return True

    def join(self, member: Member) -> None:
        self.members = Members({member.id: member}, {})

    def housekeep(self) -> bool:
        return False

    def acquire_archive_lock(self) -> bool:
        return True


class InitialIdentity(NamedTuple):
    """What a store that goes on from another one takes over: the cluster's id, and the epoch after the other's."""

    cluster_id: str
    epoch: int


def broken(guards: Mapping[Resource, int], changed: LastChanges) -> Resource | None:
    """The first resource whose last change is later than its guard says."""
    for resource, seen in guards.items():
        if changed.get(resource, 0) > seen:
            return resource
    return None


def open_store(url: str, secrets: Secrets = NO_SECRETS, *, read_only: bool = False) -> Store:
    """Open the keeper that a URL names. `secrets` lock what must not be readable there.

    `read_only` is for a ZooKeeper that is not ours: not even our own znodes are made there.
    """
    if url.startswith("sqlite:///"):
        from kconf.store.sqlite.store import SqliteStore

        return SqliteStore.open(url, secrets)
    if url.startswith("zookeeper://"):
        check_kazoo(url)
        if read_only:
            from kconf.store.zookeeper.readonly_store import ReadonlyZookeeperStore

            return ReadonlyZookeeperStore.open(url, secrets)
        from kconf.store.zookeeper.store import ZookeeperStore

        return ZookeeperStore.open(url, secrets)
    if url == "memory:":
        from kconf.store.memory import MemoryStore

        return MemoryStore()
    raise ConfigurationError(f"unknown store {url!r}: use sqlite:///FILE or zookeeper://HOST:PORT/CHROOT")


def check_kazoo(url: str) -> None:
    """Say what is missing, before something fails to be imported."""
    try:
        import kazoo  # noqa: F401
    except ImportError:
        raise ConfigurationError(f"{url} needs the package kazoo: pip install 'kconf[zookeeper]'") from None
