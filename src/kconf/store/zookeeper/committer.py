"""Commits a batch in as few multis as possible. Retries after conflicts with other servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from logging import getLogger
from typing import Any, Final

from kconf.errors import ChangeTooLarge, RevisionConflict, StoreUnavailable
from kconf.model.journal import Change, ChangeKind, Revision, redact_change
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.store.base import find_conflict
from kconf.store.record_codec import revision_record
from kconf.store.zookeeper import paths
from kconf.store.zookeeper.batching import Indexed, Results, drop_conflicting, next_multi
from kconf.store.zookeeper.commit_builder import build_commit
from kconf.store.zookeeper.commit_log import CommitLog, CommitTooLarge, UnexpectedZnodeVersion
from kconf.store.zookeeper.external_changes import ExternalChanges
from kconf.store.zookeeper.notification_purger import NotificationPurger

log = getLogger(__name__)

_MAX_RACES: Final = 200  # attempts of a commit


class Committer:
    """Used from the store's thread only."""

    def __init__(self, commit_log: CommitLog, external: ExternalChanges, purger: NotificationPurger) -> None:
        self._commit_log = commit_log
        self._external = external
        self._purger = purger

    def commit(self, batch: Sequence[PendingCommit], polled: int) -> Sequence[Revision | RevisionConflict]:
        """See Store.commit. `polled` is the last polled revision, on which the batch was planned."""
        results: Results = {}
        waiting = self._check_guards(batch, polled, results)
        if self._commit_log.is_behind and waiting:
            self._commit_log.catch_up()
        changed = {change.resource for revision in self._commit_log.remote for change in revision.changes}
        for _ in range(_MAX_RACES):
            kept = drop_conflicting(changed, waiting, results)
            if len(kept) < len(waiting):
                self._commit_log.fairness.race_lost()
            waiting = kept
            changed |= self._write_all(waiting, results)
            if not waiting:
                return [results[index] for index in range(len(batch))]
        raise StoreUnavailable("too many other servers are committing changes")

    def _check_guards(self, batch: Sequence[PendingCommit], polled: int, results: Results) -> list[Indexed]:
        """The commits whose guards hold for the polled state and for earlier commits of the batch."""
        changed = self._commit_log.cache.snapshot.changed.mutate()
        number = polled
        waiting = []
        for index, pending in enumerate(batch):
            found = find_conflict(pending.guards, changed)
            if found is not None:
                results[index] = found
                continue
            number += bool(pending.changes)
            for change in pending.changes:
                changed[change.resource] = number
            waiting.append((index, pending))
        return waiting

    def _write_all(self, waiting: list[Indexed], results: Results) -> set[Resource]:
        """Write commits until another server commits first. Returns the resources that it changed."""
        limit = len(waiting)
        while waiting:
            some = next_multi(waiting, self._commit_log.cache.snapshot)[:limit]
            try:
                changed = self._write(some, results)
            except CommitTooLarge:
                limit = len(some) // 2
                if not limit:
                    index, pending = waiting.pop(0)
                    resource = pending.changes[0].resource
                    results[index] = ChangeTooLarge(f"{resource} exceeds ZooKeeper's size limit of 1 MB")
                    limit = len(waiting)
                continue
            except UnexpectedZnodeVersion as found:
                changed = self._reconcile(found)
            if changed is not None:
                return changed
            del waiting[: len(some)]
        return set()

    def _write(self, some: Sequence[Indexed], results: Results) -> set[Resource] | None:
        """Write one multi. Returns None on success, or the resources that others changed if nothing was written."""
        snapshot, revisions, records = self._commit_log.cache.snapshot, list[tuple[int, Revision]](), list[Any]()
        for index, pending in some:
            if pending.changes:
                snapshot = snapshot.apply(pending.changes, snapshot.revision + 1)
                redacted = [redact_change(change, self._commit_log.store_key) for change in pending.changes]
                records.append(revision_record(pending.time, pending.caller, "kconf", redacted))
            revisions.append((index, Revision(snapshot.revision, pending.time, pending.caller, pending.changes)))
        if records:
            changes = [change for _, pending in some for change in pending.changes]
            writes = build_commit(self._commit_log.cache, snapshot, changes, self._topic_documents(changes))
            changed = self._commit_log.append(records, writes)
            if changed is not None:
                return changed
            self._purger.add(writes.notifications)
            self._warn_of_hidden_acls(changes)
        for index, revision in revisions:
            earlier = results.get(index)
            if isinstance(earlier, Revision):
                self._commit_log.remote.append(earlier)  # if a commit was split, its result is that of the last part
            results[index] = revision
        return None

    def _reconcile(self, found: UnexpectedZnodeVersion) -> set[Resource]:
        """Handle an external write to a znode, or a purged revision mark."""
        if found.path.startswith(paths.MARKS):
            self._external.refresh_marks()
            return set()
        return self._external.reconcile([found.path])

    def _topic_documents(self, changes: Iterable[Change]) -> Mapping[str, bytes]:
        """The znodes of topics that get partitions. The controller's fields in them are preserved."""
        if not self._external.has_brokers:
            return {}
        grown = (each.resource.name for each in changes if each.kind is ChangeKind.TOPIC and each.before)
        return {path: data for path, data, _ in self._commit_log.session.get_many(map(paths.topic_path, grown))}

    def _warn_of_hidden_acls(self, changes: Iterable[Change]) -> None:
        """Warn of ACLs that Kafka's znodes cannot store, which brokers do not enforce."""
        if self._external.has_brokers:
            for resource in {each.resource for each in changes if each.resource.type is ResourceType.ACL}:
                if paths.config_path(resource).startswith(paths.KCONF_CONFIG):
                    log.warning(
                        "%s: its ACLs apply on kconf only, not on Kafka brokers: Kafka's znodes cannot store its name",
                        resource,
                    )
