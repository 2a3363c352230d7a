"""Opens the store of a gateway. With controllers it follows the metadata log, otherwise it polls a broker."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final

from immutables import Map

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.kraft.scram_keys import CredentialSink
from kconf.client.settings import ClientSettings
from kconf.errors import JournalTrimmed, StoreMismatch
from kconf.model.journal import Revision
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.upstream.following.log_thread import LogThread
from kconf.store.upstream.following.scram_keys import read_keys
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.journal import GatewayJournal, Numbering
from kconf.store.upstream.polling.poller import RECENT, Poller, RecordedState
from kconf.store.upstream.polling.reading import StateReader
from kconf.store.upstream.source import StateSource
from kconf.store.upstream.store import UpstreamStore

_PAGE: Final = 1000
_LOST_ATTEMPTS: Final = 3
"""Failed connections after which a poll uses another broker, and a change is refused."""


def open_upstream(
    url: str,
    brokers: ClientSettings,
    controllers: ClientSettings | None,
    poll_interval: float,
    credentials: CredentialSink | None = None,
    identities: Identities | None = None,
) -> UpstreamStore:
    """Open the store.

    `poll_interval` is in seconds. `credentials` receives the users' SCRAM credentials, which only the log contains.
    """
    brokers = brokers._replace(retries=brokers.retries._replace(lost_attempts=_LOST_ATTEMPTS))
    if controllers is None:

        def poll(journal: GatewayJournal, cluster: str) -> StateSource:
            reader = StateReader(SyncAdminClient._from_settings(brokers))
            recorded = recorded_state(journal, cluster)
            return Poller(reader, cluster, recorded, poll_interval, max(journal.first, journal.last + 1))

        return UpstreamStore(url, brokers, Numbering.POLLS, poll, identities)

    def follow(journal: GatewayJournal, cluster: str) -> StateSource:
        image = journal.read_image(cluster)
        if image is not None and credentials is not None:
            read_keys(controllers, cluster, credentials)  # the image does not contain them
        return LogThread(controllers, cluster, image, credentials)

    return UpstreamStore(url, brokers, Numbering.LOG, follow, identities)


def recorded_state(journal: GatewayJournal, cluster: str) -> RecordedState | None:
    """The state in the journal of a gateway that polls: its image with later changes applied."""
    facts = journal.read_image_facts()
    if facts is None:
        return None
    image, revision = journal.checkpoint(facts, cluster).image, int(facts["offset"])
    configs: dict[Resource, Overrides] = {each: dict(values) for each, values in image.configs.items()}
    snapshot = Snapshot.of(revision, Map(image.topics), Map(configs), Map())
    for each in _after(journal, revision):
        snapshot = snapshot.apply(each.changes, each.number)
    since = (time.time() - RECENT) * 1000
    last = _after(journal, max(journal.begin, journal.last - _PAGE))
    recent = [each for each in last if each.time > since]
    snapshot = replace(snapshot, revision=max(snapshot.revision, journal.first))
    return RecordedState(snapshot, _unknown(facts), journal.polled, journal.broker, recent, revision)


def _after(journal: GatewayJournal, revision: int) -> list[Revision]:
    found: list[Revision] = []
    try:
        while page := journal.changes(revision, _PAGE):
            found += page
            revision = page[-1].number
    except JournalTrimmed:
        raise StoreMismatch(
            f"the image of {journal.url} is older than its journal; delete the image to start from the"
            " current state of the cluster"
        ) from None
    return found


def _unknown(facts: Any) -> frozenset[ResourceType]:
    words = {each.word: each for each in ResourceType}
    return frozenset(words[each] for each in facts.get("unknown", ()))
