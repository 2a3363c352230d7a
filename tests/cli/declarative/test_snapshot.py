"""`kconf snapshot`: snapshots of clusters for the pipeline."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.cli.commands.scenarios import People
from tests.cli.declarative.scenarios import SECRET, Furnished
from tests.support.process import free_port


def lines_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(item["file"]).read_text().splitlines()]


def test_a_snapshot_has_every_resource_and_ends_with_its_number_of_lines(people: People) -> None:
    furnished = Furnished(people)
    people.add_context("here", labels={"region": "eu"})
    out = people.directory / "snapshots"

    (item,) = people.items(f"snapshot --out {out}")

    head, *lines, end = lines_of(item)
    assert (head["kind"], head["name"], head["labels"], head["missing"]) == ("snapshot", "here", {"region": "eu"}, [])
    assert (head["cluster"], head["format"]) == (item["cluster"], 1)
    assert head["started"] <= head["taken"]
    assert end == {"kind": "end", "lines": len(lines) + 1}
    topic = next(each for each in lines if each["kind"] == "topic" and each["name"] == furnished.topic)
    assert (topic["partitions"], topic["replication"], topic["internal"]) == (3, 1, False)
    own = [each for each in lines if each["kind"] == "config" and each["resource_name"] == furnished.topic]
    assert {(each["key"], each["value"], each["source"]) for each in own} == {
        ("retention.ms", "864000000", "DYNAMIC_TOPIC_CONFIG"),
        ("cleanup.policy", "compact,delete", "DYNAMIC_TOPIC_CONFIG"),
    }
    broker = [each for each in lines if each["kind"] == "config" and each["resource_type"] == "broker"]
    assert {each["source"] for each in broker} >= {"DEFAULT_CONFIG", "STATIC_BROKER_CONFIG"}
    assert {each["value"] for each in broker if each["sensitive"]} == {None}
    quota = {"kind": "quota", "key": "producer_byte_rate", "value": 1048576.0}
    assert {**quota, "entity": {"client-id": None, "user": furnished.user}} in lines
    credential = {"kind": "scram", "user": furnished.user, "mechanism": "SCRAM-SHA-512", "iterations": 4096}
    assert credential in lines
    assert Counter(each["kind"] for each in lines)["acl"] >= 1
    assert SECRET not in Path(item["file"]).read_text()
    assert Path(item["file"]).stat().st_mode & 0o777 == 0o600
    assert not list(out.rglob(".*"))


def test_other_clusters_are_read_if_one_does_not_respond(people: People) -> None:
    people.add_context("prod-a")
    people.add_context("prod-b")
    people.bootstrap = f"127.0.0.1:{free_port()}"
    people.add_context("prod-c")

    found = people.items(f"snapshot -C 'prod-*' --out {people.directory.as_uri()}/snapshots", status=1)

    assert [(each["context"], each["error"]) for each in found] == [
        ("prod-a", None),
        ("prod-b", None),
        ("prod-c", "NETWORK_EXCEPTION"),
    ]
    assert people.whole(f"snapshot -C prod-c --out {people.directory}/snapshots", status=4)["items"] == []


def test_a_path_that_is_not_a_directory_is_reported(people: People) -> None:
    assert "file:///" in people.whole("snapshot --out s3://bucket/x", status=2)["message"]
    (people.directory / "taken").write_text("")
    assert "cannot be written" in people.whole(f"snapshot --out {people.directory}/taken", status=2)["message"]
