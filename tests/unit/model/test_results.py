"""Results: failures name their resource, and a result is readable, also in a notebook."""

from __future__ import annotations

import pytest

from kconf.errors import ApiError, ErrorCode, KafkaError, UnknownTopic
from kconf.model.entry import Entry, Source, View
from kconf.model.resource import Resource
from kconf.model.results import Results

ORDERS, MISSING = Resource.topic("orders"), Resource.topic("miss<ing")
REFUSED = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no <b> topic")


def test_a_raised_failure_names_its_resource() -> None:
    results: Results[Resource, None] = Results({ORDERS: None, MISSING: REFUSED})

    with pytest.raises(UnknownTopic) as raised:
        results[MISSING]
    with pytest.raises(ExceptionGroup, match="1 of 2 failed") as group:
        results.raise_for_failures()

    assert (str(raised.value), raised.value.resource) == ("topic:miss<ing: there is no <b> topic", MISSING)
    assert raised.value.message == "there is no <b> topic"
    assert [str(each) for each in group.value.exceptions] == [str(raised.value)]
    assert raised.value.failure() == REFUSED


def test_a_failure_is_printed_with_or_without_a_message_and_resource() -> None:
    bare = ApiError(ErrorCode.POLICY_VIOLATION)

    assert (str(bare), str(bare.error()), str(bare.error("orders"))) == (
        "POLICY_VIOLATION",
        "POLICY_VIOLATION",
        "orders: POLICY_VIOLATION",
    )
    unknown_type = Resource(77, "x")  # type: ignore[arg-type]  # as a newer broker may send it
    assert "77" in str(KafkaError.of(42, "no").failure().error(unknown_type))


def test_results_print_each_resource() -> None:
    results: Results[Resource, View | None] = Results({ORDERS: View(()), Resource.topic("t"): None, MISSING: REFUSED})
    many: Results[str, None] = Results(dict.fromkeys(map(str, range(25))))

    assert repr(results) == (
        "Results(3 results, 1 failed: {topic:orders: 0 entries, topic:t: done, "
        "topic:miss<ing: UNKNOWN_TOPIC_OR_PARTITION: there is no <b> topic})"
    )
    assert repr(many).endswith("19: done, … and 5 more})")


def test_results_are_a_table_in_a_notebook() -> None:
    view = View((Entry("key", "<i>", Source.TOPIC),))
    html = Results({ORDERS: view, MISSING: REFUSED, Resource.topic("t"): None})._repr_html_()
    many = Results(dict.fromkeys(map(str, range(205))))._repr_html_()

    assert "<td>topic:miss&lt;ing</td><td><b>UNKNOWN_TOPIC_OR_PARTITION: there is no &lt;b&gt; topic</b></td>" in html
    assert "<summary>1 entries</summary><table>" in html
    assert "&lt;i&gt;" in html
    assert "<td>topic:t</td><td>done</td>" in html
    assert "… and 5 more" in many
