"""The store of a gateway: its state is that of a real cluster, read from the metadata log or by polling a broker.

`commit` sends changes to the cluster through its Admin APIs and waits until they are in the state, so that a client
that gets an acknowledgement can read its change. `poll_remote` returns all changes: those of the gateway with their
author, those of other tools without. The state comes from a StateSource (source.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, suppress
from dataclasses import replace
from logging import getLogger
from typing import Final

from immutables import Map

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.kraft.image import IN_LOG
from kconf.client.settings import ClientSettings
from kconf.errors import (
    ApiError,
    ErrorCode,
    KafkaError,
    KconfError,
    OutcomeUnknown,
    RevisionConflict,
    StaleState,
    StoreError,
    StoreFailed,
)
from kconf.model.alteration import NewTopic
from kconf.model.journal import AuditEntry, Change, Revision
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.plan import PendingCommit, Place, Refusals
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot, metric_name
from kconf.store.base import NOTHING_UNKNOWN, JournalReader, PassedOn, Polling, Publish, UnknownParts, find_conflict
from kconf.store.upstream.authors.in_flight import NOTHING_IN_FLIGHT, KeysInFlight, names_of
from kconf.store.upstream.authors.intents import OpenIntents
from kconf.store.upstream.authors.outcomes import sent_outcome
from kconf.store.upstream.broker_watch import BrokerWatch
from kconf.store.upstream.brokers import UpstreamBrokers
from kconf.store.upstream.exchange import Exchange
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.journal import GatewayJournal, Intent, IntentOutcome, Numbering
from kconf.store.upstream.other_keys import OtherKeys
from kconf.store.upstream.polling.reading import HIDDEN, is_unreachable
from kconf.store.upstream.recorder import Recorder
from kconf.store.upstream.requests import TIMEOUT, UNAVAILABLE, SendResult, place_of
from kconf.store.upstream.sender import DryRunSender, Sender
from kconf.store.upstream.source import Shown, StateSource

log = getLogger(__name__)

_HOUSEKEEPING: Final = 5.0  # seconds for a response that can also be read the next time
_IMAGE_EVERY: Final = 10_000  # offsets or revisions

_FAILED: Final = "an unexpected error: whether the change was made is unknown; check before you try again"
_UNRECORDED: Final = ApiError(
    ErrorCode.REQUEST_TIMED_OUT,
    "the cluster accepted the change, but this gateway cannot write its journal now; check before you try again",
)

OpenSource = Callable[[GatewayJournal, str], StateSource]
"""Opens the source of the state, from the journal and the cluster id."""


class UpstreamStore:
    """The store of a gateway. `brokers` are the client settings for the cluster.

    With `identities`, which the store closes, changes are made as their authors, otherwise with the principal of
    `brokers`.
    """

    can_be_stale = True
    faults = 0
    keeps_fractions = False
    epoch = 1
    commit_timeout = TIMEOUT

    def __init__(
        self,
        url: str,
        brokers: ClientSettings,
        numbering: Numbering,
        open_source: OpenSource,
        identities: Identities | None = None,
    ) -> None:
        self.url = url
        self._noted_broker: int | None = None
        self._not_in_log = NOTHING_UNKNOWN
        self._notify: Callable[[], None] = lambda: None
        self._publish: Publish = lambda _: None
        with ExitStack() as opened:
            self._client = SyncAdminClient._from_settings(brokers)
            opened.callback(self._client.close)
            if identities is not None:
                opened.callback(identities.close)
                identities.check()
            self._sender = Sender(self._client, identities)
            opened.callback(self._sender.close)
            self._dry_runs = DryRunSender(brokers, identities)
            opened.callback(self._dry_runs.close)
            watching = SyncAdminClient._from_settings(brokers)  # other requests do not wait for its responses
            opened.callback(watching.close)
            self._brokers = UpstreamBrokers(watching)
            self.cluster_id = self._brokers.cluster_id
            self._journal = GatewayJournal(url, self.cluster_id, numbering)
            opened.callback(self._journal.close)
            self._source = open_source(self._journal, self.cluster_id)
            opened.callback(self._source.close)
            self._watch = BrokerWatch(watching, self._brokers, lambda: self._source.hidden, self._source_changed)
            opened.callback(self._watch.close)
            intents = OpenIntents(self._source.shown, self._source.is_untouched)
            self._recorder = Recorder(self._journal, intents, self._read_until)
            self._exchange = Exchange(self._client, self._sender, self._source)
            opened.callback(self._exchange.close)
            self._brokers.learn_keys(self._source.hidden)
            self._source.on_change = self._source_changed
            self._source.start()
            self._imaged = self._source.imaged or 0
            self._loaded = self._load(begins=self._source.imaged is None)
            if self._source.imaged is None:
                self._write_image()
            self._note_poll()
            self._watch.start()
            self._opened = opened.pop_all()

    # What the cluster is

    @property
    def members(self) -> ClusterMembers:
        return self._brokers.members

    @property
    def brokers_static(self) -> Overrides | None:
        return self._brokers.static

    @property
    def described_broker(self) -> int | None:
        return self._brokers.described

    @property
    def brokers_authorizer(self) -> str | None:
        return self._brokers.authorizer

    @property
    def brokers_release(self) -> str | None:
        return self._brokers.release

    @property
    def brokers_keys(self) -> OtherKeys:
        return self._brokers.keys

    @property
    def elr_version(self) -> int | None:
        return self._brokers.elr_version

    def join(self, member: ClusterMember) -> None:
        """Gateways do not register with each other."""

    # The state

    def _load(self, *, begins: bool) -> Snapshot:
        """Load the state. For resources that are not in the journal, the last change is the start of the journal."""
        snapshot, caught_up = self._source.take_all()
        if begins:
            self._journal.begin_at(snapshot.revision)
        changed = self._recorder.changed = self._journal.last_changes()
        self._close_intents(caught_up)
        for resource in (*snapshot.configs, *map(Resource.topic, snapshot.topics)):
            changed[resource] = max(changed.get(resource, 0), self._journal.begin)
        return replace(snapshot, changed=Map(changed))

    def load(self) -> Snapshot:
        return self._loaded

    def _close_intents(self, caught_up: Sequence[Revision]) -> None:
        """Compare the open intents with the changes that were read. Nothing is sent again."""
        intents = self._journal.open_intents()
        if intents:
            first = min(each.sent_after for each in intents)
            is_gone = first <= self._journal.begin
            self._recorder.intents.add(intents, list(self._journal.all_after(first - 1)), is_after_gap=is_gone)
        self._recorder.record(caught_up, is_all=True)
        self._recorder.take()  # the loaded state contains it

    def _read_until(self) -> int:
        """The time up to which the cluster was read, in milliseconds."""
        return _now() if self.polling is None else self._source.polled

    @property
    def outside_revisions(self) -> int:
        return self._recorder.outside_revisions

    @property
    def first_revision(self) -> int:
        return self._journal.first

    def on_change(self, callback: Callable[[], None]) -> None:
        self._notify = callback

    def _source_changed(self) -> None:
        self._exchange.wake()
        self._notify()

    def publish_to(self, publish: Publish) -> None:
        self._publish = publish

    def _publish_settled(self, held: KeysInFlight) -> None:
        """Publish what was read, up to the first change that a request in flight may have made."""
        self._recorder.try_record(self._source.take(held))
        if self._recorder.has_recorded:
            self._publish(self._recorder.take())

    def _notify_recorded(self) -> None:
        """Ask for a `poll_remote` if there is anything to publish."""
        if self._recorder.has_recorded:
            self._notify()

    def refresh(self, resources: Collection[Resource]) -> None:
        self._source.refresh(resources)
        self._publish_settled(NOTHING_IN_FLIGHT)

    def poll_remote(self) -> Sequence[Revision]:
        self._recorder.try_record(self._source.take())
        if self.polling is not None and self.polling.broker != self._noted_broker:
            with suppress(StoreError):  # it is noted later
                self._note_poll()
        return self._recorder.take()

    @property
    def is_reachable(self) -> bool:
        """Whether the state is up to date, everything that was read is in the journal, and the brokers belong to the
        cluster. It can be up to date although no broker responds.
        """
        return self._is_followed and self._brokers.problem is None

    @property
    def stale_reason(self) -> str | None:
        if (behind := self._journal.behind_reason) is not None:
            return self._source.stale_reason or behind
        return self._source.stale_reason or self._watch.problem

    @property
    def brokers_problem(self) -> str | None:
        return self._watch.problem

    @property
    def _is_followed(self) -> bool:
        return self._source.stale_reason is None and not self._journal.is_behind

    @property
    def unknown(self) -> UnknownParts:
        """A poll reads ACLs from the cluster's authorizer; the log contains only those of Kafka's own authorizer."""
        if self.polling is not None:
            return self._source.unknown
        if (kinds := self._brokers.not_in_log) != self._not_in_log.kinds:
            self._not_in_log = UnknownParts(kinds, {})
        return self._not_in_log

    @property
    def polling(self) -> Polling | None:
        return self._source.polling

    @property
    def generation(self) -> int:
        return 0

    polled_generation = generation

    @property
    def problem(self) -> StoreFailed | None:
        return self._source.problem or self._journal.file.problem

    @property
    def unreadable(self) -> Sequence[str]:
        return ()

    # Changes

    def validate(self, pending: PendingCommit) -> Refusals:
        return self._dry_runs.validate(pending)

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict | PassedOn]:
        if (problem := self.problem) is not None:
            raise problem
        if (reason := self.stale_reason) is not None:
            raise StaleState(reason)
        held = KeysInFlight.of(batch)
        try:
            self._source.begin_requests(held)
        except KconfError as error:
            failure = _refusal(error)
            return [PassedOn(dict.fromkeys(names_of(each), failure)) for each in batch]
        try:
            return self._commit(batch, held)
        except StoreError:
            self._notify_recorded()
            raise
        finally:
            self._source.end_requests()

    def _commit(self, batch: Sequence[PendingCommit], held: KeysInFlight) -> list[RevisionConflict | PassedOn]:
        """Send the changes without a conflict. Raises StoreError if nothing was sent."""
        self._recorder.record(self._source.take())
        conflicts = [find_conflict(each.guards, self._recorder.changed) for each in batch]
        ready = [each for each, found in zip(batch, conflicts, strict=True) if found is None]
        failures = self._send(ready, held) if ready else {}
        places: list[set[Place]] = [{*names_of(each), *map(place_of, each.operations)} for each in batch]
        return [
            found or PassedOn({place: failures[place] for place in mine & failures.keys()})
            for mine, found in zip(places, conflicts, strict=True)
        ]

    def one_per_batch(self, pending: PendingCommit) -> AbstractSet[Resource]:
        """Each resource that a commit changes: no request to the cluster may contain a resource twice.

        Kafka compares the metric name of a new topic with those of existing topics, but not within a request. So topics
        of two clients with the same metric name are not in one request.
        """
        created = {each.name for each in pending.operations if isinstance(each, NewTopic)}
        return names_of(pending) | {Resource.topic(metric_name(each)) for each in created}

    def _send(self, batch: Sequence[PendingCommit], held: KeysInFlight) -> Refusals:
        """Send the changes of many callers in one request, and wait until they are in the state."""
        sent_after = self._source.applied
        changing = [each for each in batch if each.changes]
        ids = self._journal.add_intents(changing, sent_after) if changing else []
        try:
            sent, expected, shown = self._exchange.run(batch, lambda: self._publish_settled(held))
        except BaseException as error:
            self._recorder.intents.add(
                Intent(id_, sent_after, _planned(pending, pending.changes))
                for id_, pending in zip(ids, changing, strict=True)
            )
            if not isinstance(error, Exception):
                raise
            log.exception("sending changes to the cluster failed unexpectedly")
            raise OutcomeUnknown(_FAILED) from None
        if any(each.code is ErrorCode.REQUEST_TIMED_OUT for each in sent.refused.values()):
            self._watch.check()
        found = self._source.take()
        claims, done = expected.claims(found)
        unanswered = SendResult(sent.refused, set(sent.unknown))
        if shown is not Shown.SHOWN:
            self._add_unseen(sent, expected.resources - done, shown)
        outcomes: dict[int, IntentOutcome] = {}
        remaining: list[Intent] = []
        for id_, pending in zip(ids, changing, strict=True):
            unknown = tuple(filter(sent.is_unknown, pending.changes))
            if unknown:
                intent = Intent(id_, sent_after, _planned(pending, unknown))
                is_acknowledged = not any(map(unanswered.is_unknown, unknown))
                self._recorder.intents.add([intent], is_acknowledged=is_acknowledged)
                remaining += [intent] if len(unknown) < len(pending.changes) else []
            else:
                outcomes[id_] = sent_outcome(pending.changes, sent.refused, done)
        try:
            self._recorder.record(found, outcomes, claims)
        except StoreError as error:
            log.error("cannot write changes of the cluster to the journal: %s", error)
            return dict.fromkeys(expected.resources, _UNRECORDED) | sent.refused
        with suppress(StoreError):  # then a later start also looks for the changes whose outcome is known
            self._journal.narrow_intents(remaining)
        return sent.refused

    def _add_unseen(self, sent: SendResult, unseen: set[Resource], shown: Shown) -> None:
        """Add changes that were acknowledged, but that clients do not see here: an acknowledgement would be wrong.

        Their intents stay open, so that they get their author.
        """
        message = self._source.unshown(shown)
        if message is not None:
            sent.refused.update(dict.fromkeys(unseen, ApiError(ErrorCode.REQUEST_TIMED_OUT, message)))
            sent.unknown.update(unseen)

    # The journal

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._journal.changes(after, limit)

    def redact(self, revision: Revision) -> Revision:
        """Hash sensitive values with a key of the journal file. What is read from the cluster contains none."""
        if not any(each.sensitive for each in revision.changes):
            return revision
        return replace(revision, changes=tuple(map(self._redacted, revision.changes)))

    def _redacted(self, change: Change) -> Change:
        if not change.sensitive:
            return change
        before, after = (
            text if text is None or IN_LOG in text or HIDDEN in text else self._journal.hashed(text)
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
        if self.polling is not None:  # after a restart, the state is the image plus the later journal
            if self._imaged < self._source.applied - 1:
                self._write_image()
                self._notify_recorded()
            up_to = self._imaged if up_to is None else min(up_to, self._imaged)
        return self._journal.trim(before_time=before_time, keep_last=keep_last, up_to=up_to)

    def housekeep(self, *, notification_retention: float) -> bool:
        """Ask for the brokers to be read again, and write an image now and then."""
        try:
            self._record_all()
        finally:
            self._notify_recorded()
        self._watch.check()
        return False

    def _record_all(self) -> None:
        """Write to the journal what could not be written before, close intents, and write an image now and then."""
        if self._journal.is_behind and not self._journal.has_gap:
            self._recorder.record(())
            self._notify()
        if not self._is_followed:
            return
        if self._recorder.intents:
            is_read = self._source.is_read  # before the image is taken
            self._recorder.record(self._source.take(), is_all=is_read)
        self._note_poll()
        if self._source.applied - self._imaged >= _IMAGE_EVERY:
            self._write_image()

    def _write_image(self) -> None:
        """Write an image, after everything up to it is in the journal, and if the state is certain."""
        if not self._source.is_certain:
            return
        position, image, found = self._source.take_image()
        self._recorder.record(found)
        self._journal.write_image(image)
        self._imaged = position

    def _note_poll(self) -> None:
        """Record the time of the last poll in the journal: changes found after a restart are newer."""
        polling, polled = self.polling, self._source.polled
        if polling is None or polling.broker is None or self._journal.is_behind:
            return
        self._recorder.record(self._source.take())
        self._journal.note_poll(polled, polling.broker)
        self._noted_broker = polling.broker

    def acquire_archive_lock(self) -> bool:
        return True

    def close(self) -> None:
        with self._opened:
            self._source.close()
            if self.problem is None and not self._journal.has_gap:
                self._note_poll()
                self._write_image()


def _planned(pending: PendingCommit, changes: Sequence[Change]) -> Revision:
    return Revision(0, pending.time, pending.caller, tuple(changes))


def _refusal(error: KconfError) -> ApiError:
    """The error for a change that was not sent."""
    return error.failure() if isinstance(error, KafkaError) and not is_unreachable(error) else UNAVAILABLE


def _now() -> int:
    return int(time.time() * 1000)
