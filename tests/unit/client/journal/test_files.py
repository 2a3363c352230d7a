"""The files of a client's journal. With real brokers: tests/conformance/test_client_journal.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kconf.client.journal.base import RefusedChange
from kconf.client.journal.files import ClientJournal, read_journal
from kconf.errors import ApiError, ErrorCode, StoreMismatch
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.lines.fields import ATTEMPT_LINE, CHANGE_LINE
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource

ALICE = RequestContext("User:alice", "cli", "here", "IncrementalAlterConfigs", 0, "ticket 12")
SET = Change(ChangeKind.CONFIG, Resource.topic("t"), "a", None, "1", "set")
SECRET = Change(ChangeKind.CONFIG, Resource.broker(1), "ssl.key.password", None, "hunter2", "set", sensitive=True)


def names(directory: Path) -> list[str]:
    return sorted(each.name.partition("-")[0] for each in (directory / "C").iterdir())


def test_a_started_request_is_visible_until_its_result_is_known(tmp_path: Path) -> None:
    journal = ClientJournal(tmp_path)

    entry = journal.begin("C", ALICE, [SET, SECRET])
    assert names(tmp_path) == ["begun"]
    assert [line["outcome"] for line in read_journal(tmp_path, "C").unknown] == ["unknown", "unknown"]
    journal.end(entry, [SET, SECRET], [], [])

    found = read_journal(tmp_path, "C")
    assert names(tmp_path) == ["client"]
    assert [(line["key"], line["outcome"], line["lines"]) for line in found.changes] == [
        ("a", "done", 2),
        ("ssl.key.password", "done", 2),
    ]
    assert found.changes[1]["after"].startswith("hmac:")
    assert "hunter2" not in "".join(each.read_text() for each in (tmp_path / "C").iterdir())
    assert (found.attempts, found.unknown) == ([], [])


def test_done_refused_and_unknown_changes_are_distinguished(tmp_path: Path) -> None:
    journal = ClientJournal(tmp_path)
    other = SET._replace(resource=Resource.topic("u"))
    entry = journal.begin("C", ALICE, [SET, other, SECRET])

    journal.end(entry, [SET], [RefusedChange(other, ApiError(ErrorCode.INVALID_CONFIG, "no"))], [SECRET])

    found = read_journal(tmp_path, "C")
    assert names(tmp_path) == ["attempts", "begun", "client"]
    assert [line["key"] for line in found.changes] == ["a"]
    assert [(line["resource_name"], line["keys"], line["error"]) for line in found.attempts] == [("u", ["a"], 40)]
    assert [line["key"] for line in found.unknown] == ["ssl.key.password"]


def test_a_client_writes_exactly_the_fields_that_are_defined(tmp_path: Path) -> None:
    journal = ClientJournal(tmp_path)
    quota = SET._replace(resource=QuotaEntity.of({"user": "ann"}).resource)

    entry = journal.answered(journal.begin("C", ALICE, [quota], 7))
    journal.end(entry, [quota], [RefusedChange(quota, ApiError(ErrorCode.INVALID_CONFIG))], [], 9)

    found = read_journal(tmp_path, "C")
    assert [line.keys() for line in found.changes] == [{each.name for each in CHANGE_LINE}]
    assert [line.keys() for line in found.attempts] == [{each.name for each in ATTEMPT_LINE}]
    assert [(line["log_begin"], line["log_end"]) for line in found.changes] == [(7, 9)]


def test_revisions_increase_even_within_a_microsecond(tmp_path: Path) -> None:
    journal = ClientJournal(tmp_path)
    for _ in range(20):
        journal.end(journal.begin("C", ALICE, [SET]), [SET], [], [])

    revisions = [line["revision"] for line in read_journal(tmp_path, "C").changes]
    assert revisions == sorted(set(revisions))
    assert len(revisions) == 20


def test_two_journals_of_one_directory_seal_with_one_key(tmp_path: Path) -> None:
    for _ in range(2):
        journal = ClientJournal(tmp_path)
        journal.end(journal.begin("C", ALICE, [SECRET]), [SECRET], [], [])

    first, second = read_journal(tmp_path, "C").changes
    assert first["after"] == second["after"]
    assert (tmp_path / "client.key").stat().st_mode & 0o777 == 0o600


def test_a_missing_directory_has_no_entries(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "nowhere", "C") == ([], [], [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "client-1.jsonl:1: not a valid journal line"),
        ('{"kind": "config"}', "client-1.jsonl:1: not a valid journal line"),
        (json.dumps({"format": 2}), "client-1.jsonl was written by a newer version of kconf"),
    ],
)
def test_an_invalid_line_is_reported_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "C").mkdir()
    (tmp_path / "C" / "client-1.jsonl").write_text(text + "\n")

    with pytest.raises(StoreMismatch, match=told.replace(".", r"\.")):
        read_journal(tmp_path, "C")


@pytest.mark.parametrize("cluster", ["../elsewhere", "/elsewhere", "..", ".", ".hidden", "a/b", "a\0b", "a b"])
def test_a_cluster_id_with_a_path_cannot_move_the_journal_to_another_directory(tmp_path: Path, cluster: str) -> None:
    journal = ClientJournal(tmp_path / "journal")

    with pytest.raises(StoreMismatch, match="cannot be used as a directory name"):
        journal.begin(cluster, ALICE, [SET])
    with pytest.raises(StoreMismatch):
        read_journal(tmp_path / "journal", cluster)

    assert [each for each in tmp_path.rglob("*") if "begun" in each.name] == []


@pytest.mark.parametrize("text", ["one\u2028two", "one\x85two", "one\x0btwo", "one\ntwo", "\u2029"])
def test_a_value_with_a_line_separator_stays_one_line(tmp_path: Path, text: str) -> None:
    journal = ClientJournal(tmp_path)

    journal.end(journal.begin("C", ALICE, [SET._replace(after=text)]), [SET._replace(after=text)], [], [])

    assert [line["after"] for line in read_journal(tmp_path, "C").changes] == [text]
