"""Which files of an archive the pipeline reads, by their names."""

from __future__ import annotations

import pytest

from kconf.spark.files import Listed, LogRange, log_range


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (f"{1:020}-{1:020}-{9:020}.jsonl", None),
        ("client-00001794804454949875-b436b1f3.jsonl", None),
        (f"log-{0:020}-{32:020}.jsonl", None),
        ("log-of-mine.jsonl", None),
        ("x.jsonl.gz", "its name does not end with .jsonl"),
        ("_x.jsonl", "its name starts with _"),
    ],
)
def test_a_file_is_read_or_the_reason_is_given(name: str, fault: str | None) -> None:
    found = Listed(f"/archive/cluster/{name}", 1, 1).fault

    assert found is None if fault is None else (found or "").startswith(fault)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"log-{0:020}-{32:020}.jsonl", LogRange("cluster", 0, 32, False)),
        (f"log-gap-{5:020}-{32:020}.jsonl", LogRange("cluster", 5, 32, True)),
        ("log-of-mine.jsonl", None),
        (f"{1:020}-{1:020}-{9:020}.jsonl", None),
    ],
)
def test_a_file_of_a_follower_names_the_offsets_it_covers(name: str, found: LogRange | None) -> None:
    assert log_range(f"/archive/cluster/{name}") == found
    assert log_range(f"s3a://bucket/archive/cluster/{name}") == found
