"""The precedence ladder, where the differential lab found it wrong."""

from __future__ import annotations

from kconf.engine.resolve import Ladder
from kconf.keys.catalogue import kafka_43
from kconf.model.entry import Source, Synonym


def ladder(*, static: dict[str, str] | None = None) -> Ladder:
    return Ladder(kafka_43(), static or {}, {}, {})


def test_an_internal_topic_key_is_shown_as_it_was_set_with_itself_as_synonym() -> None:
    entry = ladder().topic({"internal.segment.bytes": " 007 "})["internal.segment.bytes"]

    assert entry.value == " 007 "
    assert entry.synonyms == (Synonym("internal.segment.bytes", " 007 ", Source.TOPIC),)


def test_a_topic_key_that_is_not_internal_is_normalised() -> None:
    assert ladder().topic({"segment.bytes": " +1048576 "})["segment.bytes"].value == "1048576"
