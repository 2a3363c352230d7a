"""A plan as a file: what `plan --out` writes and `apply` does, if nothing has moved since.

JSON, for its owner's eyes only. There is no secret in it, only where each is to be found.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kconf.engine.declarative.diff import Difference
from kconf.engine.declarative.model import SecretSource, SourceLocation
from kconf.errors import ConfigurationError
from kconf.model.entry import Source
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.operations.declarative.plan import Planned
from kconf.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 1
_TYPES: Final = {each.word: each for each in ResourceType}


def write_plan(path: str, planned: Planned, context: str) -> None:
    from kconf.operations.declarative.files import write_whole

    whole = {
        "kind": "plan",
        "format": FORMAT,
        "kconf": __version__,
        "context": context,
        "cluster": planned.cluster,
        "changes": [_change(each) for each in planned.differences],
    }
    try:
        write_whole(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n", private=True)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


def read_plan(path: str) -> Planned:
    """The plan in a file; its `revision` is not known: what has moved is seen by comparing."""
    try:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{path} is no plan: it is no JSON") from None
    if not isinstance(whole, dict) or whole.get("kind") != "plan":
        raise ConfigurationError(f"{path} is no plan; `kconf plan --out` writes one")
    if whole.get("format") != FORMAT:
        raise ConfigurationError(f"{path} was written by another kconf: this one knows format {FORMAT} only")
    try:
        return Planned(str(whole["cluster"]), [_difference(each) for each in whole["changes"]], {}, [])
    except (KeyError, TypeError, ValueError):
        raise ConfigurationError(f"{path} is no plan: a change in it is not whole") from None


def _change(each: Difference) -> dict[str, Any]:
    return {
        "kind": each.kind.value,
        "resource_type": each.resource.type.word,
        "resource_name": each.resource.name,
        "op": each.op,
        "key": each.key,
        "before": each.before,
        "after": each.after,
        "old": each.old,
        "new": each.new,
        "source": None if each.source is None else each.source.name,
        "sensitive": each.sensitive,
        "from": None if each.secret is None else {each.secret.kind: each.secret.name},
        "place": None if each.place is None else list(each.place),
        "pruned": each.pruned,
    }


def _difference(told: Mapping[str, Any]) -> Difference:
    secret, place, source = told["from"], told["place"], told["source"]
    return Difference(
        ChangeKind(told["kind"]),
        Resource(_TYPES[told["resource_type"]], _text(told["resource_name"])),
        _text(told["op"]),
        _text(told["key"]),
        _text_or_none(told["before"]),
        _text_or_none(told["after"]),
        _text_or_none(told["old"]),
        _text_or_none(told["new"]),
        None if source is None else Source[source],
        None if place is None else SourceLocation(*place),
        bool(told["sensitive"]),
        None if secret is None else SecretSource(*next(iter(secret.items()))),
        bool(told["pruned"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)
