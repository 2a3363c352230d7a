"""A store that only reads: it follows what others write, and reads the znodes again only after they changed."""

from __future__ import annotations

from kconf.model.quota import QuotaEntity
from kconf.model.snapshot import Snapshot
from kconf.store.zookeeper.readonly_store import ReadonlyZookeeperStore
from kconf.store.zookeeper.store import ZookeeperStore
from tests.contract.changes import pending, put
from tests.feed.reading import until

APP = QuotaEntity.of({"client-id": "app"}).resource
RATE = "producer_byte_rate"


class CountingStore(ReadonlyZookeeperStore):
    reads = 0

    def _read(self, revision: int) -> Snapshot:
        self.reads += 1
        return super()._read(revision)


def test_znodes_are_read_again_only_after_a_change_and_while_there_is_a_connection(
    zookeeper_url: str,
) -> None:
    writer = ZookeeperStore.open(zookeeper_url)
    writer.commit([pending(put(APP, RATE, "1024"))])
    store = CountingStore.open(zookeeper_url)
    try:
        assert isinstance(store, CountingStore)
        assert store.load().overrides(APP) == {RATE: "1024"}
        assert (store.poll_remote(), store.reads) == ((), 1)

        store._session._connected.clear()
        writer.commit([pending(put(APP, RATE, "2048"))])
        until(lambda: bool(store._stale))
        assert (store.poll_remote(), store.reads) == ((), 1)

        store._session._connected.set()
        (revision,) = store.poll_remote()
        assert [(each.resource, each.before, each.after) for each in revision.changes] == [(APP, "1024", "2048")]
    finally:
        store.close()
        writer.close()
