"""Which quota applies: the eight levels, compared with an oracle that tries them one by one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.engine.quotas import precedence
from kconf.engine.quotas.alter import plan_alter_quotas
from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import PRECEDENCE, StoredQuotas, level, levels
from kconf.engine.quotas.what_if import what_if
from kconf.model.journal import Change, ChangeKind
from kconf.model.quota import (
    ClientQuotaAlteration,
    ClientQuotaOp,
    QuotaCandidate,
    QuotaDifference,
    QuotaEntity,
    QuotaSource,
)
from kconf.model.snapshot import Snapshot

KEY = "producer_byte_rate"
OTHER = "request_percentage"
LADDER = [source.entity("alice", "app") for source in QuotaSource]


def setting(entity: QuotaEntity, value: float | None, key: str = KEY) -> ClientQuotaAlteration:
    return ClientQuotaAlteration(entity, (ClientQuotaOp(key, value),))


def applied(snapshot: Snapshot, requests: list[ClientQuotaAlteration], index: QuotaIndex) -> Snapshot:
    plan = plan_alter_quotas(snapshot, requests)
    after = snapshot.apply(plan.changes, snapshot.revision + 1)
    index.refresh(after, [change.resource for change in plan.changes])
    return after


def test_the_first_configured_level_of_kip_248_applies() -> None:
    state, index = Snapshot.EMPTY, QuotaIndex()
    for number, entity in enumerate(LADDER):
        state = applied(state, [setting(entity, 100.0 + number)], index)

    for number, entity in enumerate(LADDER):
        found = index.resolve(KEY, "alice", "app")
        assert found is not None
        assert (found.source, found.value) == (number, 100.0 + number)
        assert [each.source for each in found.overridden] == list(range(number + 1, 8))
        state = applied(state, [setting(entity, None)], index)

    assert index.resolve(KEY, "alice", "app") is None
    assert len(index) == 0
    assert not index.by_user
    assert not index.by_client


def test_each_quota_key_is_resolved_independently() -> None:
    index = QuotaIndex()
    applied(Snapshot.EMPTY, [setting(LADDER[0], 5.0, OTHER), setting(LADDER[7], 7.0)], index)

    assert index.candidates(OTHER, "alice", "app") == [QuotaCandidate(QuotaSource.CLIENT_IN_USER, 5.0)]
    assert index.candidates(KEY, "alice", "app") == [QuotaCandidate(QuotaSource.DEFAULT_CLIENT, 7.0)]
    assert (index.uses[OTHER], index.uses[KEY]) == (1, 1)


def test_an_empty_client_id_matches_no_clients_rule() -> None:
    index = QuotaIndex()
    applied(Snapshot.EMPTY, [setting(entity, 1.0 + number) for number, entity in enumerate(LADDER)], index)

    assert [each.source for each in index.candidates(KEY, "alice", "")] == [QuotaSource.USER, QuotaSource.DEFAULT_USER]


@pytest.mark.parametrize(
    ("source", "bucket"),
    [
        (0, ("alice", "app")),
        (1, ("alice", "app")),
        (2, ("alice", "")),
        (3, ("alice", "app")),
        (4, ("alice", "app")),
        (5, ("alice", "")),
        (6, ("", "app")),
        (7, ("", "app")),
    ],
)
def test_the_level_defines_who_shares_a_measured_rate(source: int, bucket: tuple[str, str]) -> None:
    index = QuotaIndex()
    applied(Snapshot.EMPTY, [setting(LADDER[source], 1.0)], index)

    found = index.resolve(KEY, "alice", "app")

    assert found is not None
    assert found.bucket == bucket


def test_an_address_falls_back_to_the_default_and_then_to_no_limit() -> None:
    rate = "connection_creation_rate"
    state, index = Snapshot.EMPTY, QuotaIndex()
    one, default = QuotaEntity.of({"ip": "10.0.0.1"}), QuotaEntity.of({"ip": None})
    state = applied(state, [setting(one, 5.0, rate), setting(default, 9.0, rate)], index)

    assert index.address(rate, "10.0.0.1") == (5.0, "10.0.0.1")
    state = applied(state, [setting(one, None, rate)], index)
    assert index.address(rate, "10.0.0.1") == (9.0, None)
    applied(state, [setting(default, None, rate)], index)
    assert index.address(rate, "10.0.0.1") is None


def test_a_stored_value_that_is_not_a_number_limits_nothing() -> None:
    """kconf does not write such values, but other tools may write them to ZooKeeper."""
    line = Change(ChangeKind.CONFIG, LADDER[2].resource, KEY, None, "much", "set")
    found = QuotaIndex.of(Snapshot.EMPTY.apply([line], 1)).resolve(KEY, "alice", "app")

    assert found is not None
    assert math.isnan(found.value)


def test_the_levels_of_a_client_are_those_of_kip_248() -> None:
    assert levels("alice", "app") == dict(zip(LADDER, QuotaSource, strict=True))
    assert list(levels("alice", "").values()) == [QuotaSource.USER, QuotaSource.DEFAULT_USER]
    assert list(levels("", None).values()) == [QuotaSource.DEFAULT_CLIENT]


@pytest.mark.parametrize("user", ["alice", None, ""])
@pytest.mark.parametrize("client_id", ["app", None, ""])
def test_an_entity_has_the_same_level_in_any_order_of_precedence(
    monkeypatch: pytest.MonkeyPatch, user: str | None, client_id: str | None
) -> None:
    """A named level and its default have the same entity if the name is the default."""
    found = levels(user, client_id)
    monkeypatch.setattr(precedence, "PRECEDENCE", PRECEDENCE[::-1])

    assert list(levels(user, client_id).items()) == list(found.items())[::-1]


names = st.sampled_from(["a", "b", None])
entities = st.one_of(
    st.builds(lambda u: QuotaEntity.of({"user": u}), names),
    st.builds(lambda c: QuotaEntity.of({"client-id": c}), names),
    st.builds(lambda u, c: QuotaEntity.of({"user": u, "client-id": c}), names, names),
)
requests = st.lists(
    st.builds(setting, entities, st.none() | st.integers(1, 9).map(float), st.sampled_from([KEY, OTHER])), max_size=30
)


asked = st.sampled_from(["a", "b", "c", None, ""])


@given(requests, asked, asked)
def test_a_client_resolves_stored_quotas_like_the_index(
    wanted: list[ClientQuotaAlteration], user: str | None, client: str | None
) -> None:
    state, index = Snapshot.EMPTY, QuotaIndex()
    for each in wanted:
        state = applied(state, [each], index)
    stored = {
        row.entity: {key: float(text) for key, text in row.values.items()}
        for rows in (index.users, index.clients, index.pairs)
        for row in rows.values()
    }

    quotas = StoredQuotas(stored)

    assert [quotas.candidates(key, user, client) for key in (KEY, OTHER)] == [
        index.candidates(key, user, client) for key in (KEY, OTHER)
    ]
    held = {key: ladder[0] for key in (KEY, OTHER) if (ladder := index.candidates(key, user, client))}
    told = quotas.effective(user, client, (KEY, OTHER))
    assert {key: (each.source, each.value) for key, each in told.items()} == held


@given(requests, st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b", "c", ""]))
def test_the_index_finds_the_same_candidates_as_trying_every_level(
    wanted: list[ClientQuotaAlteration], user: str, client: str
) -> None:
    state, index, kept = Snapshot.EMPTY, QuotaIndex(), dict[tuple[QuotaEntity, str], float]()
    for each in wanted:
        state = applied(state, [each], index)
        ((key, value),) = each.alterations
        kept.pop((each.entity, key), None)
        if value is not None:
            kept[each.entity, key] = value

    for key in (KEY, OTHER):
        expected = [
            QuotaCandidate(source, kept[entity, key])
            for source in QuotaSource
            for entity in [source.entity(user, client)]
            if (entity, key) in kept and not (client == "" and any(kind == "client-id" for kind, _ in entity.parts))
        ]
        assert index.candidates(key, user, client) == expected
        assert index.uses.get(key, 0) == sum(1 for _, name in kept if name == key)

    fresh = QuotaIndex.of(state)
    assert {row.entity: row.values for rows in (fresh.users, fresh.clients, fresh.pairs) for row in rows.ordered()} == {
        row.entity: row.values for rows in (index.users, index.clients, index.pairs) for row in rows.ordered()
    }
    for one, other in ((fresh.by_user, index.by_user), (fresh.by_client, index.by_client)):
        assert one == other


def holding(index: QuotaIndex, key: str, user: str, client: str) -> QuotaCandidate | None:
    return next(iter(index.candidates(key, user, client)), None)


@given(
    requests, requests, st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["a", "b", "c", ""])), unique=True)
)
def test_what_if_returns_the_quotas_that_a_change_would_result_in(
    before: list[ClientQuotaAlteration], change: list[ClientQuotaAlteration], seen: list[tuple[str, str]]
) -> None:
    state, index = Snapshot.EMPTY, QuotaIndex()
    for each in before:
        state = applied(state, [each], index)

    told = list(what_if(index, change, seen))

    was = {(*pair, key): holding(index, key, *pair) for pair in seen for key in (KEY, OTHER)}
    for each in change:
        state = applied(state, [each], index)
    now = {(*pair, key): holding(index, key, *pair) for pair in seen for key in (KEY, OTHER)}
    assert sorted(told, key=str) == sorted(
        (QuotaDifference(*who, was[who], now[who]) for who in was if was[who] != now[who]), key=str
    )


def test_an_entity_has_one_level_for_a_client_or_none() -> None:
    assert [level(entity, "alice", "app") for entity in LADDER] == list(QuotaSource)
    assert level(QuotaEntity.of({"user": "bob"}), "alice", "app") is None
    assert level(QuotaEntity.of({"client-id": None}), "alice", "") is None
    assert level(QuotaEntity.of({"ip": None}), "alice", "app") is None
