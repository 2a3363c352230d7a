"""All quotas of one snapshot, indexed by name: resolving a pair takes a few look-ups, however many quotas exist.

The index is derived data: `refresh` applies committed changes, and `QuotaIndex.of` builds the same index from scratch.
It shares the snapshot's values. In names, None is the default entity and "" is no entity, so that an empty client id
matches no quota of a client, not even the default one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Any, Final, TypeVar

from kconf.engine.quotas.precedence import Bucket, Name, bucket
from kconf.model.quota import CLIENT_ID, IP, USER, QuotaCandidate, QuotaEntity, QuotaSource
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.model.snapshot import Snapshot

Pair = tuple[Name, Name]


class Resolved:
    """The effective quota of a (user, client id), and those that it overrides, in order."""

    __slots__ = ("_found", "_who", "source", "value")

    def __init__(self, found: Sequence[tuple[QuotaSource, str]], user: Name, client_id: Name) -> None:
        self.source, text = found[0]
        self.value = number(text)
        self._found = found
        self._who = user, client_id

    @property
    def overridden(self) -> tuple[QuotaCandidate, ...]:
        return tuple(QuotaCandidate(source, number(text)) for source, text in self._found[1:])

    @property
    def bucket(self) -> Bucket:
        return bucket(self.source, *self._who)


class QuotaRow:
    """The quotas of one entity. A change creates a new row, so values cached in `memo` are never outdated."""

    __slots__ = ("kind", "memo", "name", "values")

    def __init__(self, kind: str, name: Any, values: Overrides) -> None:
        self.kind: Final = kind
        self.name: Final = name  # of a pair: user and client id
        self.values: Final = values
        self.memo: Any = None

    @property
    def entity(self) -> QuotaEntity:
        if self.kind == _PAIR:
            return QuotaEntity(((CLIENT_ID, self.name[1]), (USER, self.name[0])))
        return QuotaEntity(((self.kind, self.name),))


_PAIR: Final = "pair"

K = TypeVar("K")


class QuotaRows(dict[K, QuotaRow]):
    """The rows of one kind of entity. `ordered` is by name, defaults first, and sorted again only for new names."""

    def __init__(self) -> None:
        super().__init__()
        self._order: list[K] = []
        self._new: list[K] = []
        self._gone = False

    def put(self, name: K, row: QuotaRow) -> None:
        if name not in self:
            self._new.append(name)
        self[name] = row

    def drop(self, name: K) -> None:
        del self[name]
        self._gone = True

    def ordered(self) -> Iterator[QuotaRow]:
        if self._new or self._gone:
            kept = [name for name in dict.fromkeys((*self._order, *self._new)) if name in self]
            kept.sort(key=_rank)
            self._order, self._new, self._gone = kept, [], False
        return map(self.__getitem__, self._order)


def _rank(name: Any) -> Any:
    return (name[0] or "", name[1] or "") if isinstance(name, tuple) else name or ""


Levels = dict[Name, Overrides]
"""The quotas of a user: its own under OWN, those of its client ids under their names. Or the same for a client id."""

OWN: Final = ""


class QuotaIndex:
    """Every entity that has a quota, by what it is: users, clients, pairs (user, client id), ips."""

    def __init__(self) -> None:
        self.users: QuotaRows[Name] = QuotaRows()
        self.clients: QuotaRows[Name] = QuotaRows()
        self.pairs: QuotaRows[Pair] = QuotaRows()
        self.ips: QuotaRows[Name] = QuotaRows()
        self.by_user: dict[Name, Levels] = {}
        self.by_client: dict[Name, Levels] = {}
        self.uses: dict[str, int] = {}  # by key: how many entities have it

    @classmethod
    def of(cls, snapshot: Snapshot) -> QuotaIndex:
        index = cls()
        stored = [(each.name, values) for each, values in snapshot.configs.items() if each.type == ResourceType.QUOTA]
        entities = json.loads(f"[{','.join(name for name, _ in stored)}]")  # at once: a third of the time
        for parts, (_, values) in zip(entities, stored, strict=True):
            index._put(parts, values)
        return index

    def __len__(self) -> int:
        return len(self.users) + len(self.clients) + len(self.pairs) + len(self.ips)

    def refresh(self, snapshot: Snapshot, resources: Iterable[Resource]) -> None:
        """Update these resources from a snapshot."""
        for resource in resources:
            self._put(json.loads(resource.name), snapshot.overrides(resource))

    def _put(self, parts: Mapping[str, Name], values: Overrides) -> None:
        if IP in parts:
            self._replace(self.ips, IP, parts[IP], values)
        elif len(parts) == 2:
            user, client = parts[USER], parts[CLIENT_ID]
            self._replace(self.pairs, _PAIR, (user, client), values)
            _note(self.by_user, user, client, values)
            _note(self.by_client, client, user, values)
        elif USER in parts:
            self._replace(self.users, USER, parts[USER], values)
            _note(self.by_user, parts[USER], OWN, values)
        elif CLIENT_ID in parts:
            self._replace(self.clients, CLIENT_ID, parts[CLIENT_ID], values)
            _note(self.by_client, parts[CLIENT_ID], OWN, values)

    def _replace(self, rows: QuotaRows[K], kind: str, name: K, values: Overrides) -> None:
        old = rows.get(name)
        uses = self.uses
        if old is not None:
            for key in old.values:
                uses[key] -= 1
        if values:
            for key in values:
                uses[key] = uses.get(key, 0) + 1
            rows.put(name, QuotaRow(kind, name, values))
        elif old is not None:
            rows.drop(name)

    # -- effective quotas --------------------------------------------------------------------------------------------

    def resolve(self, key: str, user: Name, client_id: Name) -> Resolved | None:
        """The effective quota of this key for a user with a client id; None: no limit."""
        found = self._candidates(key, user, client_id)
        return Resolved(found, user, client_id) if found else None

    def candidates(self, key: str, user: Name, client_id: Name) -> list[QuotaCandidate]:
        """Every quota of this key that applies, the effective one first."""
        return [QuotaCandidate(source, number(text)) for source, text in self._candidates(key, user, client_id)]

    def _candidates(self, key: str, user: Name, client_id: Name) -> list[tuple[QuotaSource, str]]:
        # In the order of precedence.py; a test compares the two. While any quota exists, every request runs this. Among
        # a million names a look-up mostly waits for memory, so only two look-ups are by name; the others are in small
        # dictionaries or find defaults.
        found: list[tuple[QuotaSource, str]] = []
        mine = self.by_client.get(client_id) if client_id else None
        if user and (own := self.by_user.get(user)) is not None:
            if client_id and (values := own.get(client_id)) is not None and (text := values.get(key)):
                found.append((_CLIENT_IN_USER, text))
            if client_id != "" and (values := own.get(None)) is not None and (text := values.get(key)):
                found.append((_DEFAULT_CLIENT_IN_USER, text))
            if (values := own.get(OWN)) is not None and (text := values.get(key)):
                found.append((_USER, text))
        if user != "":
            if mine is not None and (values := mine.get(None)) is not None and (text := values.get(key)):
                found.append((_CLIENT_IN_DEFAULT_USER, text))
            if (everyone := self.by_user.get(None)) is not None:
                if client_id != "" and (values := everyone.get(None)) is not None and (text := values.get(key)):
                    found.append((_DEFAULT_CLIENT_IN_DEFAULT_USER, text))
                if (values := everyone.get(OWN)) is not None and (text := values.get(key)):
                    found.append((_DEFAULT_USER, text))
        if mine is not None and (values := mine.get(OWN)) is not None and (text := values.get(key)):
            found.append((_CLIENT, text))
        if client_id != "" and (row := self.clients.get(None)) is not None and (text := row.values.get(key)):
            found.append((_DEFAULT_CLIENT, text))
        return found

    def address(self, key: str, address: str) -> tuple[float, Name] | None:
        """The quota of an address, and the entity that it comes from; None: no limit."""
        for name in (address, None):
            row = self.ips.get(name)
            if row is not None and key in row.values:
                return number(row.values[key]), name
        return None


def number(text: str) -> float:
    """A stored value. NaN limits nothing, as in Kafka: nothing is greater than it."""
    try:
        return float(text)
    except ValueError:
        return nan


def quotas(row: QuotaRow) -> list[tuple[str, float]]:
    """The quotas of an entity by key."""
    return [(key, number(text)) for key, text in sorted(row.values.items())]


def _note(index: dict[Name, Levels], name: Name, within: Name, values: Overrides) -> None:
    """Set or remove values; `within` is the other half of a pair, or OWN."""
    levels = index.get(name)
    if values:
        if levels is None:
            index[name] = {within: values}
        else:
            levels[within] = values
    elif levels is not None:
        levels.pop(within, None)
        if not levels:
            del index[name]


_CLIENT_IN_USER: Final = QuotaSource.CLIENT_IN_USER
_DEFAULT_CLIENT_IN_USER: Final = QuotaSource.DEFAULT_CLIENT_IN_USER
_USER: Final = QuotaSource.USER
_CLIENT_IN_DEFAULT_USER: Final = QuotaSource.CLIENT_IN_DEFAULT_USER
_DEFAULT_CLIENT_IN_DEFAULT_USER: Final = QuotaSource.DEFAULT_CLIENT_IN_DEFAULT_USER
_DEFAULT_USER: Final = QuotaSource.DEFAULT_USER
_CLIENT: Final = QuotaSource.CLIENT
_DEFAULT_CLIENT: Final = QuotaSource.DEFAULT_CLIENT
