"""The entities that a filter matches: the table of Kafka's own tests, and an oracle that checks every entity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.engine.quotas.alter import plan_alter_quotas
from kconf.engine.quotas.filter import clients, clients_of, matching, users
from kconf.engine.quotas.index import QuotaIndex
from kconf.errors import InvalidRequest, KafkaError, UnsupportedVersion
from kconf.model.quota import (
    ClientQuotaAlteration,
    ClientQuotaOp,
    MatchType,
    QuotaComponent,
    QuotaEntity,
    QuotaFilter,
)
from kconf.model.snapshot import Snapshot

EXACT, DEFAULT, ANY = MatchType
ENTITIES: list[dict[str, str | None]] = [
    {"user": "user-1", "client-id": "client-id-1"},
    {"user": "user-1", "client-id": "client-id-2"},
    {"user": "user-1", "client-id": None},
    {"user": None, "client-id": "client-id-2"},
    {"user": "user-2"},
    {"user": "user-3", "client-id": "client-id-3"},
    {"user": "user-4"},
    {"user": None},
    {"user": "user-5"},
    {"user": "user-6", "client-id": "client-id-6"},
    {"client-id": None},
    {"ip": "1.2.3.4"},
    {"ip": None},
]


def index_of(entities: list[dict[str, str | None]]) -> QuotaIndex:
    requests = [
        ClientQuotaAlteration(
            QuotaEntity.of(parts),
            (ClientQuotaOp("connection_creation_rate" if "ip" in parts else "producer_byte_rate", 1.0),),
        )
        for parts in entities
    ]
    return QuotaIndex.of(Snapshot.EMPTY.apply(plan_alter_quotas(Snapshot.EMPTY, requests).changes, 1))


@pytest.mark.parametrize(
    ("components", "strict", "count"),
    [
        ([("user", EXACT, "user-1")], False, 3),
        ([("client-id", EXACT, "client-id-2")], False, 2),
        ([("user", DEFAULT, None)], False, 2),
        ([("user", EXACT, "user-2")], True, 1),
        ([("client-id", EXACT, "client-id-1")], True, 0),
        ([("user", ANY, None)], True, 4),
        ([("user", ANY, None)], False, 10),
        ([("client-id", ANY, None)], True, 1),
        ([("client-id", ANY, None)], False, 7),
        ([("ip", ANY, None)], False, 2),
        ([("ip", EXACT, "1.2.3.4")], True, 1),
        ([("user", EXACT, "user-1"), ("client-id", DEFAULT, None)], True, 1),
        ([("user", ANY, None), ("client-id", ANY, None)], True, 6),
        ([], False, 13),
        ([], True, 0),
    ],
)
def test_a_filter_matches_as_in_kafkas_own_tests(
    components: list[tuple[str, int, str | None]], strict: bool, count: int
) -> None:
    asked = QuotaFilter(tuple(QuotaComponent(*each) for each in components), strict)

    assert len(matching(index_of(ENTITIES), asked)) == count


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("", ANY, None)], InvalidRequest),
        ([("user", ANY, None), ("user", EXACT, "x")], InvalidRequest),
        ([("other", ANY, None)], UnsupportedVersion),
        ([("user", EXACT, None)], InvalidRequest),
        ([("user", DEFAULT, "x")], InvalidRequest),
        ([("user", ANY, "x")], InvalidRequest),
        ([("user", 3, None)], InvalidRequest),
        ([("ip", ANY, None), ("user", ANY, None)], InvalidRequest),
    ],
)
def test_an_invalid_filter_is_refused(components: list[tuple[str, int, str | None]], error: type[KafkaError]) -> None:
    with pytest.raises(error):
        matching(QuotaIndex(), QuotaFilter(tuple(QuotaComponent(*each) for each in components)))


names = st.sampled_from(["a", "b", None])
some = st.lists(
    st.one_of(
        st.fixed_dictionaries({"user": names}),
        st.fixed_dictionaries({"client-id": names}),
        st.fixed_dictionaries({"user": names, "client-id": names}),
        st.fixed_dictionaries({"ip": st.sampled_from(["10.0.0.1", None])}),
    ),
    unique_by=lambda each: QuotaEntity.of(each),
    max_size=12,
)
parts = st.one_of(
    st.builds(lambda name: (EXACT, name), st.sampled_from(["a", "b", "c"])),
    st.just((DEFAULT, None)),
    st.just((ANY, None)),
)


@given(some, st.dictionaries(st.sampled_from(["user", "client-id"]), parts), st.booleans())
def test_the_index_finds_the_same_entities_as_a_scan(
    entities: list[dict[str, str | None]], asked: dict[str, tuple[int, str | None]], strict: bool
) -> None:
    def fits(entity: dict[str, str | None]) -> bool:
        if strict and (set(entity) != set(asked)):
            return False
        return all(kind in entity and (match == ANY or entity[kind] == name) for kind, (match, name) in asked.items())

    wanted = QuotaFilter(tuple(QuotaComponent(kind, *each) for kind, each in asked.items()), strict)

    found = [row.entity for row in matching(index_of(entities), wanted)]

    assert len(found) == len(set(found))
    assert set(found) == {QuotaEntity.of(each) for each in entities if fits(each) and not (strict and not asked)}


def test_entities_are_returned_in_the_order_of_their_names_after_changes_too() -> None:
    index = index_of([{"user": name} for name in ("c", "a", None, "b")])
    everyone = QuotaFilter((QuotaComponent("user"),))

    assert [row.name for row in matching(index, everyone)] == [None, "a", "b", "c"]
    for name in ("aa", "a"):
        entity = QuotaEntity.of({"user": name})
        value = None if name == "a" else 1.0
        requested = ClientQuotaAlteration(entity, (ClientQuotaOp("producer_byte_rate", value),))
        state = Snapshot.EMPTY.apply(plan_alter_quotas(Snapshot.EMPTY, [requested]).changes, 1)
        index.refresh(state, [entity.resource])
    assert [row.name for row in matching(index, everyone)] == [None, "aa", "b", "c"]


def test_configured_users_and_client_ids_are_listed() -> None:
    index = index_of(ENTITIES)

    assert users(index) == [None, "user-1", "user-2", "user-3", "user-4", "user-5", "user-6"]
    assert clients(index) == [None]
    assert clients_of(index, "user-1") == [None, "client-id-1", "client-id-2"]
    assert clients_of(index, "nobody") == []
