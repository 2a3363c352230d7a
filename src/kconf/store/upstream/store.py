"""The store of a gateway: the state is that of a KRaft cluster, followed by its metadata log.

`commit` sends the changes to the cluster through its Admin APIs and waits until they are in the log, so that whoever
gets an acknowledgement sees the change. The number of a revision is its offset in the log, the same on every gateway.
`poll_remote` has everything that was committed, ours with its author, whatever other tools did without one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from logging import getLogger
from typing import Final

from immutables import Map

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.kraft.image import IN_LOG
from kconf.client.kraft.scram_keys import CredentialSink
from kconf.client.settings import ClientSettings
from kconf.configdef.releases.detect import release_of
from kconf.errors import KconfError, RevisionConflict, StoreError, StoreFailed, StoreUnavailable
from kconf.model.entry import static_overrides
from kconf.model.journal import AuditEntry, Change, Revision
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.plan import PendingCommit, Refusals
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import JournalReader, PassedOn, conflict
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.intents import OpenIntents
from kconf.store.upstream.journal import GatewayJournal, Intent, IntentOutcome
from kconf.store.upstream.log_thread import LogThread, without_rewrites
from kconf.store.upstream.matching import ExpectedChanges
from kconf.store.upstream.requests import resource_of
from kconf.store.upstream.scram_keys import read_keys
from kconf.store.upstream.sender import Sender

log = getLogger(__name__)

_SEEN_WITHIN: Final = 10.0  # seconds for an acknowledged change to be in the log
_HOUSEKEEPING: Final = 5.0  # seconds for an answer that can wait for the next time
_IMAGE_EVERY: Final = 10_000  # offsets


class UpstreamStore:
    """`brokers` and `controllers` are the settings of the clients with which the cluster is reached.

    `credentials` gets the SCRAM keys of the cluster's users; without it nobody does. With `identities`,
    which the store closes, changes are made as their authors; else all by the account of `brokers`.
    """

    faults = 0
    keeps_fractions = False
    epoch = 1

    def __init__(
        self,
        url: str,
        brokers: ClientSettings,
        controllers: ClientSettings,
        credentials: CredentialSink | None = None,
        identities: Identities | None = None,
    ) -> None:
        self.url = url
        self.outside_revisions = 0
        self.members: ClusterMembers = NO_MEMBERS
        self.brokers_static: Overrides | None = {}
        self._reads = 0  # of the brokers
        self._waiting: list[Revision] = []  # for poll_remote
        self._open_intents = OpenIntents()
        with ExitStack() as opened:
            self._client = SyncAdminClient._from_settings(brokers)
            opened.callback(self._client.close)
            if identities is not None:
                opened.callback(identities.close)
                identities.check()
            self._sender = Sender(self._client, identities)
            opened.callback(self._sender.close)
            self.cluster_id = self._read_cluster()
            self.brokers_release: str | None = self._read_release()
            self._journal = GatewayJournal(url, self.cluster_id)
            opened.callback(self._journal.close)
            image = self._journal.read_image(self.cluster_id)
            if image is not None and credentials is not None:
                read_keys(controllers, self.cluster_id, credentials)  # they are not in the image
            self._log = LogThread(controllers, self.cluster_id, image, credentials)
            opened.callback(self._log.close)
            self._log.start()
            self._loaded = self._load(begins=image is None)
            if image is None:
                self._write_image()
            else:
                self._imaged = image.offset
            self._opened = opened.pop_all()

    # What the cluster is

    def _read_cluster(self, timeout: float | None = None) -> str:
        """The id of the cluster. Reads its brokers, and the static configs of the first one."""
        found = self._client.describe_cluster(timeout=timeout)
        if found.cluster_id is None:
            raise StoreUnavailable("the cluster did not report its ID")
        if not found.nodes:
            raise StoreUnavailable("the cluster has no brokers now")
        first = Resource.broker(min(found.nodes))
        static = static_overrides(self._client.describe_configs([first], synonyms=True, timeout=timeout)[first])
        if static != self.brokers_static:  # the resolver stays while it is the same object
            self.brokers_static = static
        # Kafka does not tell when a broker was started: after each reading, its static configs are asked for again.
        self._reads += 1
        brokers = {
            each.id: ClusterMember(each.id, {}, each.rack, (each.host, each.port), self._reads)
            for each in found.nodes.values()
        }
        self.members = ClusterMembers({}, brokers)
        return found.cluster_id

    def _read_release(self) -> str:
        """The release whose keys the brokers have, as far as they tell. Reads the level of a feature."""
        found = self._client.describe_features()
        self.elr_version = found.finalized.get("eligible.leader.replicas.version")
        release = release_of(found.supported, found.apis)
        if not release.is_exact:
            log.warning("the release of the brokers is %s: their keys are taken for those of %s", *reversed(release))
        return release.catalog

    def join(self, member: ClusterMember) -> None:
        """Gateways do not register with each other."""

    # The state

    def _load(self, *, begins: bool) -> Snapshot:
        """What the journal does not know may have changed until it began, and has not since."""
        snapshot, caught_up = self._log.take_all()
        if begins:
            self._journal.begin_at(snapshot.revision)
        self._changed: dict[Resource, int] = self._journal.last_changes()
        self._close_intents(caught_up)
        for resource in (*snapshot.configs, *map(Resource.topic, snapshot.topics)):
            self._changed[resource] = max(self._changed.get(resource, 0), self._journal.begin)
        return replace(snapshot, changed=Map(self._changed))

    def load(self) -> Snapshot:
        return self._loaded

    def _close_intents(self, caught_up: Sequence[Revision]) -> None:
        """Compare what was being sent when the gateway ended with what the log has; nothing is sent again."""
        intents = self._journal.open_intents()
        if intents:
            first = min(each.sent_after for each in intents)
            is_gone = first <= self._journal.begin
            self._open_intents.add(intents, list(self._journal.all_after(first - 1)), is_after_gap=is_gone)
        self._keep(caught_up, is_log_read=True)

    def _keep(
        self,
        revisions: Sequence[Revision],
        outcomes: dict[int, IntentOutcome] | None = None,
        *,
        is_log_read: bool = False,
    ) -> list[Revision]:
        """Journal what was read from the log; returns what is to be made visible. Raises StoreError.

        `is_log_read`: there was nothing more to read.
        """
        if self._open_intents:
            revisions = self._open_intents.attribute(revisions)
            outcomes = {**(outcomes or {}), **self._open_intents.close(_now(), is_log_read=is_log_read)}
        kept = without_rewrites(revisions)
        if not kept and not outcomes and not self._journal.is_behind:
            return []
        kept = self._journal.append(kept, outcomes)
        for revision in kept:
            for change in revision.changes:
                self._changed[change.resource] = revision.number
        self.outside_revisions += sum(each.origin != "kconf" for each in kept)
        return kept

    def on_change(self, callback: Callable[[], None]) -> None:
        self._log.on_change = callback

    def poll_remote(self) -> Sequence[Revision]:
        try:
            self._waiting += self._keep(self._log.take())
        except StoreError as error:
            log.error("changes of the cluster cannot be written to the journal, and are not visible: %s", error)
        found, self._waiting = self._waiting, []
        return found

    @property
    def is_reachable(self) -> bool:
        """Whether the state is that of the cluster: it is followed, and what was read of it is in the journal."""
        return self._log.is_current and not self._journal.is_behind

    @property
    def generation(self) -> int:
        return 0

    polled_generation = generation

    @property
    def problem(self) -> StoreFailed | None:
        return self._log.problem or self._journal.file.problem

    @property
    def unreadable(self) -> Sequence[str]:
        return ()

    # Changes

    def validate(self, pending: PendingCommit) -> Refusals:
        return self._sender.send([pending], validate_only=True).refused

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict | PassedOn]:
        if (problem := self.problem) is not None:
            raise problem
        if not self.is_reachable:
            raise StoreUnavailable("the state of the cluster may be stale")
        results: dict[int, Revision | RevisionConflict | PassedOn] = {}
        own: set[int] = set()  # the revisions that this batch led to
        refused: set[Resource] = set()
        for positions in _rounds(batch):
            ready = []
            for position in positions:
                found = self._conflict(batch[position], own, refused)
                if found is not None:
                    results[position] = found
                else:
                    ready.append(position)
            if ready:
                answers = self._send([batch[each] for each in ready], own)
                refused |= answers.keys()
                for position in ready:
                    names = {change.resource for change in batch[position].changes}
                    results[position] = PassedOn({name: answers[name] for name in names & answers.keys()})
        return [results[position] for position in range(len(batch))]

    def _conflict(self, pending: PendingCommit, own: set[int], refused: set[Resource]) -> RevisionConflict | None:
        """A plan that was made on an earlier one of the batch fails with it; what that one changed is no conflict."""
        for resource, seen in pending.guards.items():
            last = self._changed.get(resource, 0)
            if resource in refused or (last > seen and last not in own):
                return conflict(resource)
        return None

    def _send(self, batch: Sequence[PendingCommit], own: set[int]) -> Refusals:
        """One request for the changes of many callers, and then the log until it has them."""
        self._waiting += self._keep(self._log.take())
        sent_after = self._log.applied
        ids = self._journal.add_intents(batch, sent_after)
        answers = self._sender.send(batch)
        expected = ExpectedChanges(batch, answers.refused.keys())
        if not self._log.wait_for(expected.are_in, _SEEN_WITHIN):
            log.info("an acknowledged change differs from the request in the metadata log")
        found, done = expected.attribute(self._log.take())
        outcomes = {}
        for id_, pending in zip(ids, batch, strict=True):
            unanswered = tuple(each for each in pending.changes if each.resource in answers.unknown)
            if unanswered:
                planned = Revision(0, pending.time, pending.caller, unanswered)
                self._open_intents.add([Intent(id_, sent_after, planned)])
            else:
                outcomes[id_] = _sent_outcome({each.resource for each in pending.changes}, answers.refused, done)
        kept = self._keep(found, outcomes)
        own.update(each.number for each in kept if each.origin == "kconf")
        self._waiting += kept
        return answers.refused

    # The journal

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._journal.changes(after, limit)

    def redact(self, revision: Revision) -> Revision:
        """What is read from the log has no secrets; anything else is hashed with a key of this file."""
        if not any(each.sensitive for each in revision.changes):
            return revision
        return replace(revision, changes=tuple(map(self._redacted, revision.changes)))

    def _redacted(self, change: Change) -> Change:
        if not change.sensitive:
            return change
        before, after = (
            text if text is None or IN_LOG in text else self._journal.hashed(text)
            for text in (change.before, change.after)
        )
        return change._replace(before=before, after=after)

    def journal_reader(self) -> JournalReader:
        return self._journal.reader()

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        self._journal.append_attempts(attempts)

    def oldest(self) -> int:
        return self._journal.oldest()

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        return self._journal.trim(before_time=before_time, keep_last=keep_last, up_to=up_to)

    def housekeep(self, *, notification_retention: float) -> bool:
        """Read the brokers again, and note the position in the log now and then."""
        if self._journal.is_behind:
            self._waiting += self._keep(())
            self._log.on_change()
        if not self.is_reachable:
            return False
        if self._open_intents:
            is_read = self._log.is_read  # before it is taken
            self._waiting += self._keep(self._log.take(), is_log_read=is_read)
            self._log.on_change()
        static = self.brokers_static
        try:
            self._read_cluster(_HOUSEKEEPING)
        except KconfError as error:
            raise StoreUnavailable(f"the brokers cannot be read: {error}") from None
        if self.brokers_static is not static:
            self._log.on_change()
        if self._log.applied - self._imaged >= _IMAGE_EVERY:
            self._write_image()
        return False

    def _write_image(self) -> None:
        """Everything up to the image is in the journal before it."""
        offset, image, found = self._log.take_image()
        self._waiting += self._keep(found)
        self._journal.write_image(image)
        self._imaged = offset

    def acquire_archive_lock(self) -> bool:
        return True

    def close(self) -> None:
        with self._opened:
            self._log.close()
            if self.problem is None:
                self._write_image()


def _rounds(batch: Sequence[PendingCommit]) -> Iterator[list[int]]:
    """The positions of a batch in rounds, in which no resource is changed twice; later plans come later."""
    rounds: list[list[int]] = []
    last: dict[Resource, int] = {}
    for position, pending in enumerate(batch):
        names = {change.resource for change in pending.changes} | {resource_of(each) for each in pending.operations}
        number = max((last[name] + 1 for name in names if name in last), default=0)
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(position)
        last.update(dict.fromkeys(names, number))
    yield from rounds


def _sent_outcome(names: set[Resource], refused: Refusals, done: set[Resource]) -> IntentOutcome:
    if names <= refused.keys():
        return IntentOutcome.REFUSED
    return IntentOutcome.DONE if names - refused.keys() <= done else IntentOutcome.UNKNOWN


def _now() -> int:
    return int(time.time() * 1000)
