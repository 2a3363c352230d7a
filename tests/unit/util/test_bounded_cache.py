"""A cache of client input never exceeds its size in bytes."""

from __future__ import annotations

from kconf.util.bounded_cache import MAX_ENTRY, BoundedCache, text_size


def cache(max_bytes: int) -> BoundedCache[str, int]:
    return BoundedCache(max_bytes, text_size)


def test_the_oldest_entries_are_evicted_first() -> None:
    some = cache(3 * text_size("a"))
    for number, name in enumerate("abcd"):
        some.put(name, number)

    assert [some.get(name) for name in "abcd"] == [None, 1, 2, 3]
    assert some.bytes == 3 * text_size("a")


def test_an_entry_that_is_put_again_is_evicted_last() -> None:
    some = cache(2 * text_size("a"))
    for name in "abac":
        some.put(name, 1)

    assert list(reversed(some)) == ["c", "a"]


def test_an_entry_that_is_too_large_is_not_cached_and_evicts_nothing() -> None:
    some = cache(10 * MAX_ENTRY)
    some.put("a", 1)
    some.put("x" * MAX_ENTRY, 2)

    assert (len(some), some.get("a")) == (1, 1)


def test_a_cleared_cache_counts_from_zero() -> None:
    some = cache(10 * MAX_ENTRY)
    some.put("a", 1)
    some.clear()

    assert (len(some), some.bytes, some.get("a")) == (0, 0, None)
