"""The archive of a gateway: its revisions are offsets of a metadata log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.server.journal.archive import Archive
from kconf.store.upstream.journal import GatewayJournal


def revision(number: int, author: str = "") -> Revision:
    change = Change(ChangeKind.CONFIG, Resource.topic("orders"), "retention.ms", None, str(number), "set")
    return Revision(number, 1000 * number, RequestContext(author), (change,), "kconf" if author else "log")


def archived(directory: Path, journal: GatewayJournal) -> list[Any]:
    archive = Archive(directory, "cluster", 1, journal.reader(), of_gateway=True)
    archive.open(journal.last)
    archive.catch_up()
    archive.close()
    files = sorted((directory / "cluster").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_changes_through_the_gateway_are_archived_with_their_log_offsets(tmp_path: Path, caplog: Any) -> None:
    journal = GatewayJournal(f"sqlite:///{tmp_path / 'gw.db'}", "cluster")
    journal.begin_at(10)
    journal.append([revision(17, "User:alice"), revision(40)])
    facts = ("revision", "origin", "principal", "log_begin", "log_end")
    first = archived(tmp_path / "archive", journal)
    assert [tuple(line.get(name) for name in facts) for line in first] == [
        (17, "kconf", "User:alice", 17, 18),
        (40, "log", "", None, None),
    ]
    journal.append([revision(55, "User:bob")])
    assert [line["revision"] for line in archived(tmp_path / "archive", journal)] == [17, 40, 55]
    journal.close()
    assert not caplog.records  # nothing was lost before the journal began
