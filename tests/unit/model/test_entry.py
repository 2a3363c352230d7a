"""Entries and views: a view is a mapping, and both print readable values and no secrets."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kconf.model.entry import Entry, Source, View

RETENTION = Entry("retention.ms", "5", Source.TOPIC)
PASSWORD = Entry("ssl.key.password", None, Source.STATIC, sensitive=True, read_only=True)
POLICY = Entry("cleanup.policy", "delete", Source.DEFAULT)


def test_a_view_is_a_mapping_by_name() -> None:
    view = View((POLICY, RETENTION))

    assert isinstance(view, Mapping)
    assert list(view) == ["cleanup.policy", "retention.ms"]
    assert dict(view) == {"cleanup.policy": POLICY, "retention.ms": RETENTION}
    assert view == View((Entry("cleanup.policy", "delete", Source.DEFAULT), Entry("retention.ms", "5", Source.TOPIC)))
    with pytest.raises(KeyError, match=r"no\.such\.key"):
        view["no.such.key"]


def test_an_entry_prints_its_value_and_source() -> None:
    assert repr(RETENTION) == "Entry('retention.ms', '5', DYNAMIC_TOPIC_CONFIG)"
    assert repr(PASSWORD) == "Entry('ssl.key.password', None, STATIC_BROKER_CONFIG, read_only=True, sensitive=True)"


def test_a_view_prints_values_that_are_not_defaults() -> None:
    many = View(tuple(Entry(f"key{number}", "1", Source.TOPIC) for number in range(9)))

    assert repr(View((POLICY, RETENTION, PASSWORD))) == (
        "View(3 entries, 2 not default: {retention.ms=5, ssl.key.password=[hidden]})"
    )
    assert repr(many).endswith("key4=1, … and 4 more})")


def test_a_view_is_a_table_in_a_notebook() -> None:
    html = View((Entry("a<b", "<script>", Source.TOPIC), PASSWORD))._repr_html_()

    assert "<td>a&lt;b</td><td>&lt;script&gt;</td><td>DYNAMIC_TOPIC_CONFIG</td>" in html
    assert "<td>ssl.key.password</td><td>[hidden]</td>" in html
    assert "<script>" not in html
