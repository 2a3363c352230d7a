"""A ZooKeeper that is not ours to write: a cluster's whole configuration, read and followed, and no znode touched.

For `--read-only`, and as the source of a copy. What others change there is found by the notifications that they leave;
each time everything is read again and compared. The journal of what was found is this process's own and ends with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from logging import getLogger
from secrets import token_bytes
from time import time
from typing import Final

from kconf.errors import RevisionConflict, StoreMismatch, StoreReadOnly, StoreUnavailable
from kconf.model.journal import AuditEntry, RequestContext, Revision, sealed_with
from kconf.model.membership import Member, Members
from kconf.model.plan import PendingCommit
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.memory import MemoryStore
from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.bulk_reader import BulkReader
from kconf.store.zookeeper.external_changes import ORIGIN, between
from kconf.store.zookeeper.loader import TreeLoader, read_tree
from kconf.store.zookeeper.membership import Membership
from kconf.store.zookeeper.passwords import Passwords
from kconf.store.zookeeper.session import Session, ZookeeperUrl, failures
from kconf.store.zookeeper.znode_codec import ZnodeProblem

log = getLogger(__name__)

_WATCHED: Final = (
    *(at.CONFIG_CHANGES, at.LITERAL_ACL_CHANGES, at.PREFIXED_ACL_CHANGES, at.TOPIC_NODES, at.DELETIONS),
    at.JOURNAL,
)


class ReadonlyZookeeperStore:
    """A store to which nothing can be committed."""

    def __init__(self, url: str, session: Session, secrets: Secrets, facts: dict[str, bytes]) -> None:
        self.url = url
        self.cluster_id = str(json.loads(facts[at.CLUSTER_ID])["id"])
        self.epoch = int(facts.get(at.EPOCH, b"0"))
        self.problems: Sequence[ZnodeProblem] = ()
        self._session = session
        self._seal = facts.get(at.SEAL) or token_bytes(32)
        self._passwords = Passwords(self._seal, secrets)
        self._kept = MemoryStore()
        self._wake: Callable[[], None] = lambda: None
        self._own: dict[int, Member] = {}
        self._membership = Membership(session, lambda: self._wake())
        self._turned = set(_WATCHED)  # what may have changed since it was read
        session.on_news = self._woken
        self._snapshot = self._read(0)

    @classmethod
    def open(cls, url: str, secrets: Secrets = NO_SECRETS) -> ReadonlyZookeeperStore:
        """Raises StoreUnavailable where no ZooKeeper answers, StoreMismatch where there is no cluster."""
        session = Session(ZookeeperUrl.of(url), secrets)
        session.open()
        try:
            with failures():
                found = session.get_many((at.CLUSTER_ID, at.EPOCH, at.SEAL))
                facts = {path: data for path, data, _ in found}
                if at.CLUSTER_ID not in facts:
                    raise StoreMismatch(f"{url} has neither a Kafka cluster nor a store of kconf")
                return cls(url, session, secrets, facts)
        except BaseException:
            session.close()
            raise

    @property
    def unreadable(self) -> Sequence[str]:
        """What cannot be taken over: values that no secret opens, and what Kafka itself would stumble over."""
        return [str(each) for each in self.problems]

    @property
    def is_reachable(self) -> bool:
        return self._session.is_up

    def join(self, member: Member) -> None:
        """Only this process knows of it: nothing is written."""
        self._own = {member.id: member}
        with failures():
            self._membership.look()

    @property
    def members(self) -> Members:
        known = self._membership.members
        return known._replace(servers={**known.servers, **self._own})

    @property
    def faults(self) -> int:
        return len(self.problems)

    def _read(self, revision: int) -> Snapshot:
        """All znodes as they are now; they are watched before they are read."""
        turned, self._turned = self._turned, set()
        for directory in turned:
            self._session.children(directory, partial(self._fired, directory))
        with BulkReader(self._session.place.hosts, self._session.place.chroot) as bulk:
            said = TreeLoader(self._passwords).said(read_tree(bulk), revision)
        for each in said.problems:
            if each not in self.problems:
                log.warning("left out: %s", each)
        self.problems = said.problems
        return said.snapshot

    def _fired(self, directory: str, _event: object) -> None:
        self._turned.add(directory)
        self._wake()

    def _woken(self) -> None:
        self._turned |= set(_WATCHED) if self._session.expired else set()
        self._wake()

    def load(self) -> Snapshot:
        self.poll_remote()
        return self._snapshot

    def follow(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def poll_remote(self) -> Sequence[Revision]:
        if self._membership.is_waiting and self._session.is_up:
            with suppress(StoreUnavailable), failures():
                self._membership.look()
        if not self._turned or not self._session.is_up:
            return ()
        self._session.expired = False
        turned = set(self._turned)
        try:
            with failures():
                found = self._read(self._snapshot.revision)
        except StoreUnavailable as error:
            log.warning("could not read what others have changed: %s", error)
            self._turned |= turned
            return ()
        changes = between(self._snapshot, found)
        if not changes:
            return ()
        number = self._snapshot.revision + 1
        revision = Revision(number, int(time() * 1000), RequestContext(""), tuple(changes), ORIGIN)
        self._snapshot = self._snapshot.apply(changes, number)
        self._kept.keep(self.redact(revision))
        return (revision,)

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        raise StoreReadOnly("nothing is written to this ZooKeeper")

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._kept.changes(after, limit)

    def redact(self, revision: Revision) -> Revision:
        return sealed_with(self._seal, revision)

    def reader(self) -> MemoryStore:
        return self._kept

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        self._kept.append_attempts(attempts)

    def oldest(self) -> int:
        return self._kept.oldest()

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        return self._kept.trim(before_time=before_time, keep_last=keep_last, up_to=up_to)

    def housekeep(self) -> bool:
        return False

    def acquire_archive_lock(self) -> bool:
        return False

    def close(self) -> None:
        self._session.close()
