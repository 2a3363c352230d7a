"""Selects the entities of a describe request (KIP-546's filters), and lists entities (KIP-248).

Named components are looked up directly; others are iterated in the order of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kconf.engine.quotas.alter import ENTITY_TYPES
from kconf.engine.quotas.index import OWN, Levels, QuotaIndex, QuotaRow, QuotaRows
from kconf.engine.quotas.precedence import Name
from kconf.errors import InvalidRequest, UnsupportedVersion
from kconf.model.quota import CLIENT_ID, IP, USER, MatchType, QuotaFilter


class _Any:
    """Represents every name of a type."""


_ANY = _Any()
_Wanted = Name | _Any


def matching(index: QuotaIndex, wanted: QuotaFilter) -> list[QuotaRow]:
    """The rows that match a filter: ips, then clients, pairs and users, each by name with the defaults first."""
    asked = _checked(wanted)
    if not asked:
        return [] if wanted.strict else [*_everything(index)]
    if IP in asked:
        return list(_rows(index.ips, asked[IP]))
    if wanted.strict:
        return list(_exactly(index, asked))
    return list(_at_least(index, asked))


def _checked(wanted: QuotaFilter) -> dict[str, _Wanted]:
    asked: dict[str, _Wanted] = {}
    for kind, match, name in wanted.components:
        if kind in asked:
            raise InvalidRequest(f"a filter contains the type {kind} more than once")
        if not kind:
            raise InvalidRequest("a filter contains an empty entity type")
        if kind not in ENTITY_TYPES:
            raise UnsupportedVersion(f"there are no quotas for entities of type {kind[:200]!r}")
        asked[kind] = _name(kind, match, name)
    if IP in asked and len(asked) > 1:
        raise InvalidRequest("an ip cannot be combined with a user or a client-id")
    return asked


def _name(kind: str, match: int, name: str | None) -> _Wanted:
    if match == MatchType.EXACT:
        if name is None:
            raise InvalidRequest(f"a filter for one {kind} needs its name")
        return name
    if match not in (MatchType.DEFAULT, MatchType.ANY):
        raise InvalidRequest(f"unknown match type {match}")
    if name is not None:
        raise InvalidRequest(f"a filter for the default or for any {kind} must not have a name")
    return None if match == MatchType.DEFAULT else _ANY


def _everything(index: QuotaIndex) -> Iterator[QuotaRow]:
    yield from index.ips.ordered()
    yield from index.clients.ordered()
    yield from index.pairs.ordered()
    yield from index.users.ordered()


def _exactly(index: QuotaIndex, asked: dict[str, _Wanted]) -> Iterable[QuotaRow]:
    if len(asked) == 2:
        return _pairs(index, asked[USER], asked[CLIENT_ID])
    if USER in asked:
        return _rows(index.users, asked[USER])
    return _rows(index.clients, asked[CLIENT_ID])


def _at_least(index: QuotaIndex, asked: dict[str, _Wanted]) -> Iterator[QuotaRow]:
    if USER not in asked:
        yield from _rows(index.clients, asked[CLIENT_ID])
    yield from _pairs(index, asked.get(USER, _ANY), asked.get(CLIENT_ID, _ANY))
    if CLIENT_ID not in asked:
        yield from _rows(index.users, asked[USER])


def _rows(rows: QuotaRows[Name], wanted: _Wanted) -> Iterable[QuotaRow]:
    if isinstance(wanted, _Any):
        return rows.ordered()
    row = rows.get(wanted)
    return () if row is None else (row,)


def _pairs(index: QuotaIndex, user: _Wanted, client: _Wanted) -> Iterable[QuotaRow]:
    if isinstance(user, _Any) and isinstance(client, _Any):
        return index.pairs.ordered()
    if isinstance(user, _Any):
        assert not isinstance(client, _Any)
        return [index.pairs[each, client] for each in _within(index.by_client, client)]
    if isinstance(client, _Any):
        return [index.pairs[user, each] for each in _within(index.by_user, user)]
    row = index.pairs.get((user, client))
    return () if row is None else (row,)


def _within(levels: Mapping[Name, Levels], name: Name) -> list[Name]:
    return _sorted(each for each in levels.get(name, ()) if each != OWN)


def _sorted(names: Iterable[Name]) -> list[Name]:
    return sorted(names, key=lambda name: name or "")


# -- KIP-248, "Future considerations": which entities are there


def users(index: QuotaIndex) -> list[Name]:
    """The users with a quota of their own or for one of their client ids."""
    return _sorted(index.by_user)


def clients(index: QuotaIndex) -> list[Name]:
    """The client IDs with a quota for any user."""
    return _sorted(index.clients)


def clients_of(index: QuotaIndex, user: Name) -> list[Name]:
    """The client ids with a quota within a user."""
    return _within(index.by_user, user)
