"""A later version adds a field about the caller: it reads files of older versions, and they read its files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from kconf.model.journal import AuditEntry, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.store.registry import open_store
from tests.archive.reading import archived, journal, lines
from tests.contract.changes import ALICE, commit, put
from tests.support.later_version import IP, later_version

ORDERS = Resource.topic("orders")
BOB = RequestContext("User:bob")


def test_journal_and_archive_can_be_read_by_older_and_newer_versions(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'kconf.db'}"
    with closing(open_store(url)) as store:
        first = commit(store, put(ORDERS, "a", "1"))
        store.append_attempts([AuditEntry(1000, ALICE, 1, ORDERS, ["a"], 44, dry_run=False)])

    done = later_version("commit", url, tmp_path / "archive")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["", IP, "", IP], "revisions, then attempts; the first of each is from before"
    for kind in ("", "attempts"):
        told = lines(tmp_path / "archive", kind)
        assert [(line["principal"], line["added_later"]) for line in told] == [("User:alice", ""), ("User:bob", IP)]
    second = Revision(2, 2000, BOB, (put(ORDERS, "a", "2", before="1")._replace(op="set"),))
    assert journal(url) == [first, second]
    assert [(each.number, each.caller) for each in archived(tmp_path / "archive")] == [(1, ALICE), (2, BOB)]
    with closing(open_store(url)) as store:
        assert [each.caller for each in store.journal_reader().attempts(0)] == [ALICE, BOB]


def test_the_views_of_a_store_show_what_a_later_version_wrote(tmp_path: Path) -> None:
    """The views read record fields by position."""
    url = f"sqlite:///{tmp_path / 'kconf.db'}"
    with closing(open_store(url)) as store:
        commit(store, put(ORDERS, "a", "1"))

    done = later_version("commit", url, tmp_path / "archive")

    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "kconf.db")) as db:
        assert db.execute("SELECT number, principal, reason, origin FROM revisions").fetchall() == [
            (1, "User:alice", "because", "kconf"),
            (2, "User:bob", None, "kconf"),
        ]
        assert db.execute("SELECT revision, key, after FROM changes").fetchall() == [(1, "a", "1"), (2, "a", "2")]
