"""The recorded changes of a whole cluster, newest first: filtered and split into pages.

Filters apply to the entries; only the rows of the current page are formatted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Final

from kconf.client.contexts.context import is_glob
from kconf.configdef.units import shown_value
from kconf.console.history.past import key_text
from kconf.operations.display_names import display_names
from kconf.operations.quotas.entities import entity_text

if TYPE_CHECKING:
    from kconf.console.cluster.history import HistoryIndex
    from kconf.model.journal import AuditEntry, Change
    from kconf.model.resource import Resource
    from kconf.operations.history.entries import HistoryEntry

_shown = lru_cache(maxsize=8192)(shown_value)
_LOCK: Final = Lock()


@dataclass(frozen=True)
class ActivityFilter:
    """All given conditions must hold. A pattern matches the whole name, other text a part of it; case is ignored.

    `begin` and `end` are milliseconds, both included.
    """

    resource: str = ""
    key: str = ""
    who: str = ""
    text: str = ""
    begin: int | None = None
    end: int | None = None

    @property
    def has_words(self) -> bool:
        return any((self.resource, self.key, self.who, self.text))


@lru_cache(maxsize=65536)
def resource_text(resource: Resource) -> str:
    """A resource as text: `topic:orders`, `user alice, client-id app`."""
    fields = display_names(resource, "") if resource.type.word == "quota" else {}
    if "entity" in fields:
        return f"quota:{entity_text(fields['entity'])}"
    return f"user:{resource.name}" if resource.type.word == "scram" else str(resource)


def change_resource_text(change: Change) -> str:
    """Like `resource_text`; the text of an ACL is in its key."""
    if change.resource.type.word == "acl":
        return str(display_names(change.resource, change.key)["resource"])
    return resource_text(change.resource)


def matching_changes(history: HistoryIndex, wanted: ActivityFilter) -> Sequence[HistoryEntry]:
    """Newest first."""
    if wanted.text:
        word, texts = wanted.text.lower(), _texts(history)
        entries = history.recorded.entries
        found = [entries[place] for place in range(history.count - 1, -1, -1) if word in texts[place]]
    else:
        found = history.latest(history.count)
    if wanted.begin is not None or wanted.end is not None:
        found = [each for each in found if _is_between(each.time, wanted)]  # they are not sorted by time
    if wanted.resource or wanted.key or wanted.who:
        found = [each for each in found if _change_matches(each, wanted)]
    return found


def _texts(history: HistoryIndex) -> Sequence[str]:
    """The searchable text of an entry, by its position. Computed once for each entry."""
    texts = history.texts
    with _LOCK:
        for place in range(len(texts), history.count):
            texts.append(_change_text(history.recorded.entries[place]).lower())
    return texts


def matching_attempts(attempts: Iterable[AuditEntry], wanted: ActivityFilter) -> list[AuditEntry]:
    """The refusals, in the given order."""
    return [
        each
        for each in attempts
        if each.code and _is_between(each.time, wanted) and (not wanted.has_words or _attempt_matches(each, wanted))
    ]


def _is_between(time: int, wanted: ActivityFilter) -> bool:
    return (wanted.begin is None or time >= wanted.begin) and (wanted.end is None or time <= wanted.end)


def _change_matches(entry: HistoryEntry, wanted: ActivityFilter) -> bool:
    change, caller = entry.change, entry.caller
    if wanted.who and not (_holds(wanted.who)(caller.principal or "") or _holds(wanted.who)(entry.os_user or "")):
        return False
    if wanted.key and not _holds(wanted.key)(key_text(change)):
        return False
    return not wanted.resource or _holds(wanted.resource)(change_resource_text(change))


def _change_text(entry: HistoryEntry) -> str:
    """The searchable text of a change, without hashes of secrets."""
    change, caller = entry.change, entry.caller
    values = "" if change.sensitive else f"{_value_text(change, change.before)}\n{_value_text(change, change.after)}"
    who = f"{caller.principal or ''}\n{caller.reason or ''}\n{caller.client_id}\n{caller.host}"
    return f"{change.resource.name}\n{change.key}\n{who}\n{values}\n{change_resource_text(change)}"


def _value_text(change: Change, value: str | None) -> str:
    """The stored value, and the value with its unit."""
    if value is None:
        return ""
    return f"{value}\n{_shown(change.key, value)}" if change.key else value


def _attempt_matches(entry: AuditEntry, wanted: ActivityFilter) -> bool:
    caller, place = entry.caller, resource_text(entry.resource)
    if wanted.who and not _holds(wanted.who)(caller.principal):
        return False
    if wanted.key and not any(map(_holds(wanted.key), entry.keys)):
        return False
    if wanted.resource and not _holds(wanted.resource)(place):
        return False
    texts = (place, *entry.keys, caller.principal, caller.reason or "", caller.client_id, caller.host)
    return not wanted.text or any(wanted.text.lower() in each.lower() for each in texts)


@lru_cache(maxsize=64)
def _holds(wanted: str) -> Callable[[str], bool]:
    word = wanted.lower()
    if is_glob(word):
        return lambda text: fnmatchcase(text.lower(), word) or fnmatchcase(text.lower().partition(":")[2], word)
    return lambda text: word in text.lower()
