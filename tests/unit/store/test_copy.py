"""Copies of a store, within one process."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from kconf.model.resource import Resource
from kconf.store.copy import copy_store
from kconf.store.registry import open_store
from tests.contract.changes import commit, put, topic, turned

ORDERS = Resource.topic("orders")


def test_the_value_of_an_unknown_topic_key_is_redacted_in_the_journal_of_the_copy(tmp_path: Path) -> None:
    source, target = f"sqlite:///{tmp_path}/source.db", f"sqlite:///{tmp_path}/target.db"
    with closing(open_store(source)) as store:
        commit(store, turned(None, topic("orders")))
        commit(store, put(ORDERS, "retention.ms", "1"), put(ORDERS, "future.password", "hunter2", sensitive=True))

    copy_store(source, target)

    with closing(open_store(target)) as copy:
        changes = {change.key: change for revision in copy.changes(0) for change in revision.changes}
        overrides = copy.load().overrides(ORDERS)
    assert overrides == {"retention.ms": "1", "future.password": "hunter2"}
    assert (changes["retention.ms"].after, changes["retention.ms"].sensitive) == ("1", False)
    assert changes["future.password"].sensitive
    assert (changes["future.password"].after or "").startswith("hmac:")


def test_progress_is_reported_per_commit(tmp_path: Path) -> None:
    source, target = f"sqlite:///{tmp_path}/source.db", f"sqlite:///{tmp_path}/target.db"
    with closing(open_store(source)) as store:
        commit(store, *(put(Resource.group(str(number)), "k", "v") for number in range(2500)))
    reported: list[tuple[int, int]] = []

    copy_store(source, target, progress=lambda done, of: reported.append((done, of)))

    assert reported == [(2000, 2500), (2500, 2500)]
