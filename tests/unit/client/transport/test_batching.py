"""Items are divided into requests."""

from __future__ import annotations

from kconf.client.transport.batching import batches


def test_batches_are_full_and_in_order() -> None:
    assert list(batches(range(5), 2, lambda _: None)) == [[0, 1], [2, 3], [4]]


def test_items_with_the_same_conflict_key_are_in_different_batches() -> None:
    items = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)]

    assert list(batches(items, 2, lambda item: item[0])) == [
        [("a", 1), ("b", 1)],
        [("a", 2), ("b", 2)],
        [("c", 1)],
    ]
