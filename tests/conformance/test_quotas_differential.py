"""Compares quotas with a real broker: hundreds of the same requests to both, from a fixed seed.

Intended differences are listed in ACCEPTED with their reasons; a run fails if one of them is never used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isfinite, nan

import pytest

from kconf.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlteredQuota, QuotaOp
from kconf.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    QuotaEntityPart,
    QuotaFilterComponent,
)
from tests.conformance.differential.accepted import Accepted
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.compare import Difference
from tests.conformance.differential.draw import Draw
from tests.conformance.differential.duel import Duel, report
from tests.conformance.differential.pair import duel

VERSIONS = {"AlterClientQuotas": (0, 1), "DescribeClientQuotas": (0, 1)}
KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_KEY = "connection_creation_rate"
UNKNOWN = ("bad", "", "SCRAM-SHA-256", "PRODUCER_BYTE_RATE", "producer_byte_rate ")
VALUES = (
    *(1.0, 0.5, 2.245, 10000.5, 1235.0000001, 1e-7, 0.0, -0.0, -1.0, 1e10, 12.3, 1e300),
    *(2.0**31 - 1, 2.0**31, 2.0**63, 3.7e19, nan, inf, -inf, 5e-324, 0.9999999),
)
ODD_NAMES = ("<default>", "with spaces", "ünï-çødé", "a/b", "a%20b", "x" * 300, "null", '"', "\\", ".")
ADDRESSES = ("10.0.0.1", "::1", "[::1]", "127.1", "1.2.3", "0:0:0:0:0:0:0:1", "localhost", "256.1.1.1", "a b", "1.2.3.")

Parts = Sequence[tuple[str, str | None]]
Ops = Sequence[tuple[str, float | None]]


def alter(draw: Draw, *entries: tuple[Parts, Ops], validate_only: bool = False) -> Ask:
    wanted = [
        AlteredQuota(
            [QuotaEntityPart(*part) for part in parts],
            [QuotaOp(key, 0.0 if value is None else value, value is None) for key, value in ops],
        )
        for parts, ops in entries
    ]
    return draw.ask("AlterClientQuotas", AlterClientQuotasRequest(wanted, validate_only))


def describe(draw: Draw, *components: tuple[str, int, str | None], strict: bool = False) -> Ask:
    wanted = [QuotaFilterComponent(*each) for each in components]
    return draw.ask("DescribeClientQuotas", DescribeClientQuotasRequest(wanted, strict))


def everything(draw: Draw) -> Ask:
    return describe(draw)


def cleaned(draw: Draw, *entities: Parts) -> Ask:
    """Remove all quotas, so that a scenario does not affect the next one."""
    return alter(
        draw,
        *((parts, [(IP_KEY, None)] if parts[0][0] == "ip" else [(key, None) for key in KEYS]) for parts in entities),
    )


# -- scenarios


def values(draw: Draw, key: str) -> Iterator[Ask]:
    """One key with every value, each on its own entity; then as a replacement, then removed."""
    kind = "ip" if key == IP_KEY else draw.one(("user", "client-id"))
    names = [
        f"10.1.{draw.random.randrange(256)}.{number}" if kind == "ip" else draw.name() for number in range(len(VALUES))
    ]
    entities = [[(kind, name)] for name in names]
    yield alter(
        draw, *((parts, [(key, value)]) for parts, value in zip(entities, VALUES, strict=True)), validate_only=True
    )
    yield everything(draw)
    yield alter(draw, *((parts, [(key, value)]) for parts, value in zip(entities, VALUES, strict=True)))
    yield everything(draw)
    yield cleaned(draw, *(parts for parts, value in zip(entities, VALUES, strict=True) if not 1e-6 < value < inf))
    yield alter(draw, *((parts, [(key, draw.one((1.0, 7.0, 1024.0)))]) for parts in entities))
    yield everything(draw)
    yield cleaned(draw, *entities)
    yield everything(draw)


def entities(draw: Draw) -> Iterator[Ask]:
    """Every form of an entity, valid and invalid, alone and all in one request."""
    one, other = draw.name("one"), draw.name("other")
    good: list[Parts] = [
        [("user", one)],
        [("user", None)],
        [("client-id", one)],
        [("client-id", None)],
        [("user", one), ("client-id", other)],
        [("client-id", other), ("user", other)],
        [("user", one), ("client-id", None)],
        [("user", None), ("client-id", other)],
        [("user", None), ("client-id", None)],
        [("user", one), ("user", draw.name("last"))],
        *([(kind, name)] for kind in ("user", "client-id") for name in ODD_NAMES),
    ]
    bad: list[Parts] = [
        [],
        [("", one)],
        [("group", one)],
        [("User", one)],
        [("user", "")],
        [("client-id", "")],
        [("user", one), ("client-id", "")],
        [("user", one), ("group", one)],
        [("user", one), ("ip", "10.0.0.1")],
        [("client-id", None), ("ip", None)],
        [("user", one), ("client-id", one), ("ip", "10.0.0.1")],
    ]
    both = [*good, *bad]
    draw.random.shuffle(both)
    for parts in bad:
        yield alter(draw, (parts, [(KEYS[0], 5.0)]))
    yield alter(draw, *((parts, [(draw.one(KEYS), 5.0)]) for parts in both))
    yield everything(draw)
    yield from filters(draw, [one, other, *ODD_NAMES], 12)
    yield cleaned(draw, *good)
    yield everything(draw)


def addresses(draw: Draw) -> Iterator[Ask]:
    wanted: list[Parts] = [[("ip", name)] for name in (*ADDRESSES, "", None)]
    yield alter(draw, *((parts, [(IP_KEY, 5.0)]) for parts in wanted))
    yield describe(draw, ("ip", 2, None))
    yield describe(draw, ("ip", 0, "::1"))
    yield describe(draw, ("ip", 1, None), strict=True)
    yield alter(draw, *((parts, [(draw.one(KEYS), 5.0)]) for parts in wanted))
    yield cleaned(draw, *(parts for parts in wanted if parts[0][1] != ""))
    yield everything(draw)


def filters(draw: Draw, names: Sequence[str], count: int) -> Iterator[Ask]:
    """Valid and invalid filters."""
    kinds = ("user", "user", "client-id", "client-id", "ip", "", "other")
    for _ in range(count):
        components: list[tuple[str, int, str | None]] = []
        for _ in range(draw.random.choice((0, 1, 1, 2, 2, 3))):
            match = draw.random.choice((0, 0, 1, 2, 2, 3, -1) if draw.chance(0.1) else (0, 0, 1, 2, 2))
            name = draw.one(names) if match == 0 else None
            if draw.chance(0.05):
                name = None if name else draw.one(names)
            if draw.chance(0.05):
                name = ""
            components.append((draw.one(kinds) if draw.chance(0.3) else draw.one(kinds[:4]), match, name))
        yield describe(draw, *components, strict=draw.chance(0.5))


def changes(draw: Draw) -> Iterator[Ask]:
    """Alter a few entities repeatedly with every kind of operation."""
    users, clients = [draw.name("u"), None], [draw.name("c"), draw.name("d"), None]
    pool: list[Parts] = [
        *([("user", user)] for user in users),
        *([("client-id", client)] for client in clients),
        *([("user", user), ("client-id", client)] for user in users for client in clients),
    ]
    names = [name for name in (*users, *clients) if name]
    for _ in range(draw.random.randint(4, 7)):
        entries = [(parts, _ops(draw)) for parts in draw.some(pool, draw.random.randint(1, 4))]
        yield alter(draw, *entries, validate_only=draw.chance(0.2))
        yield everything(draw)
        yield from filters(draw, names, 2)
    yield cleaned(draw, *pool)
    yield everything(draw)


def _ops(draw: Draw) -> Ops:
    ops: list[tuple[str, float | None]] = []
    for _ in range(draw.random.choice((0, 1, 1, 2, 3))):
        key = draw.one((*UNKNOWN, IP_KEY)) if draw.chance(0.1) else draw.one(KEYS)
        value: float | None = draw.one((1.0, 5.0, 1024.0, 1e6)) if draw.chance(0.9) else draw.one((0.0, -1.0, 2.5))
        ops.append((key, None if draw.chance(0.3) else value))
    return ops  # a key may occur twice


def twice(draw: Draw) -> Iterator[Ask]:
    """An entity that occurs more than once in a request."""
    name, good = draw.name("twice"), draw.name("good")
    first = [(KEYS[0], 5.0)]
    yield alter(draw, ([("user", name)], first), ([("user", good)], first), ([("user", name)], [(KEYS[1], 6.0)]))
    yield everything(draw)
    yield cleaned(draw, [("user", name)], [("user", good)])
    yield everything(draw)


# -- what may differ


def _asked(found: Difference) -> list[tuple[str, float]]:
    """The requested values of the entity for which the responses differ."""
    message = found.ask.message
    if not isinstance(message, AlterClientQuotasRequest) or found.path[:1] != ("entries",):
        return []
    return [
        (op.key, op.value)
        for entry in message.entries
        if str(sorted({part.entity_type: part.entity_name or "" for part in entry.entity}.items())) == found.path[1]
        for op in entry.ops
        if not op.remove
    ]


def _code(found: Difference, kafka: int, kconf: int) -> bool:
    return found.place("error_code") and (found.kafka, found.kconf) == (kafka, kconf)


def _message(found: Difference) -> bool:
    return found.place("error_message") and (found.kafka, found.kconf) == (None, "text")


def _no_number(found: Difference) -> bool:
    if found.ask.name == "AlterClientQuotas":
        return any(not isfinite(value) for _, value in _asked(found)) and (_code(found, 0, 42) or _message(found))
    return _only_kafka_has(found, lambda value: not isfinite(value))


def _nearly_nothing(found: Difference) -> bool:
    whole = ("producer_byte_rate", "consumer_byte_rate", IP_KEY)
    if found.ask.name == "AlterClientQuotas":
        tiny = any(key in whole and 0 < value < 1e-6 for key, value in _asked(found))
        return tiny and (_code(found, 0, 42) or _message(found))
    return _only_kafka_has(found, lambda value: 0 < value < 1e-6)


def _only_kafka_has(found: Difference, fits: object) -> bool:
    if found.ask.name != "DescribeClientQuotas" or not isinstance(found.kafka, dict):
        return False
    told = found.kafka.get("values", {})
    return repr(found.kconf) == "nothing" and bool(told) and all(fits(each["value"]) for each in told.values())  # type: ignore[operator]


def _rounded(found: Difference) -> bool:
    return (
        found.ask.name == "DescribeClientQuotas"
        and found.place("value")
        and isinstance(found.kafka, float)
        and isinstance(found.kconf, float)
        and found.kconf.is_integer()
        and 0 < found.kafka - found.kconf <= 1e-6
    )


def _half_applied(found: Difference) -> bool:
    return (
        found.ask.name == "DescribeClientQuotas"
        and len(found.path) == 2
        and "-twice" in str(found.path[1])
        and repr(found.kconf) == "nothing"
    )


ACCEPTED = (
    Accepted(
        "NaN and Infinity are no quotas",
        "Kafka keeps NaN for any key and Infinity for doubles, and they limit nothing. kconf refuses them with 42.",
        _no_number,
    ),
    Accepted(
        "a whole quota above 0 is at least 1",
        "Kafka takes 1e-7 for a whole number, as the fraction is below 1e-6. Kept as a whole number it would be 0.",
        _nearly_nothing,
    ),
    Accepted(
        "whole quotas are kept whole",
        "Kafka in KRaft mode keeps the double that was sent, 1235.0000001, though the key is a whole number. kconf "
        "keeps 1235, as Kafka did in ZooKeeper.",
        _rounded,
    ),
    Accepted(
        "an entity that is refused is not half applied",
        "Kafka answers 42 for an entity that stands in the request twice, and keeps the first of its changes.",
        _half_applied,
    ),
)


@pytest.fixture(scope="module")
def pair() -> Iterator[Duel]:
    with duel() as made:
        made.accepted = ACCEPTED
        yield made


def _scenarios() -> Iterator[tuple[str, Iterator[Ask]]]:
    for key in (*KEYS, IP_KEY):
        yield f"values/{key}", values(Draw(f"values/{key}", VERSIONS), key)
    for seed in range(2):
        yield f"entities/{seed}", entities(Draw(f"entities/{seed}", VERSIONS))
    yield "addresses/0", addresses(Draw("addresses/0", VERSIONS))
    for seed in range(2):
        yield f"twice/{seed}", twice(Draw(f"twice/{seed}", VERSIONS))
    for seed in range(20):
        yield f"changes/{seed}", changes(Draw(f"changes/{seed}", VERSIONS))


def test_kafka_and_kconf_return_the_same_responses(pair: Duel) -> None:
    for name, asks in _scenarios():
        pair.play(name, asks)
        if len(pair.score.found) > 20:
            break  # each difference is retried before it is reported, and all of them would take an hour

    assert not pair.score.found, report(pair.score.found)
    assert pair.score.total > 400, pair.score.total
    assert {line.name for line in ACCEPTED} == set(pair.score.used)
