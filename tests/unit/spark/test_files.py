"""Which files of an archive the pipeline reads, by their names."""

from __future__ import annotations

import pytest

from kconf.spark.files import Listed


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (f"{1:020}-{1:020}-{9:020}.jsonl", None),
        ("client-00001794804454949875-b436b1f3.jsonl", None),
        (f"log-{0:020}-{32:020}.jsonl", "it is of kconf follow"),
        (f"log-gap-{0:020}-{32:020}.jsonl", "it is of kconf follow"),
        ("log-of-mine.jsonl", None),
        ("x.jsonl.gz", "its name does not end with .jsonl"),
        ("_x.jsonl", "its name begins with _"),
    ],
)
def test_a_file_is_read_or_the_reason_is_given(name: str, fault: str | None) -> None:
    """Lines of a followed log beside those of clients would count each change of kconf twice."""
    found = Listed(f"/archive/cluster/{name}", 1, 1).fault

    assert found is None if fault is None else (found or "").startswith(fault)
