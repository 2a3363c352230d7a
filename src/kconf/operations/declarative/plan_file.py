"""Plan files: `plan --out` writes one, `apply` executes it if nothing has changed since.

A plan file is JSON and readable only by its owner. It contains no secrets, only the variable or file of each.
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
from kconf.operations.declarative.plan import DifferencePlan
from kconf.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 1
_TYPES: Final = {each.word: each for each in ResourceType}


def write_plan(path: str, plan: DifferencePlan, context: str) -> None:
    from kconf.operations.declarative.files import write_atomically

    whole = {
        "kind": "plan",
        "format": FORMAT,
        "kconf": __version__,
        "context": context,
        "cluster": plan.cluster,
        "changes": [_change(each) for each in plan.differences],
    }
    try:
        write_atomically(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n", private=True)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


def read_plan(path: str) -> DifferencePlan:
    """The plan in a file. It has no `revision`: later changes are found by comparing it with the cluster."""
    try:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{path} is not a plan: it is not JSON; create one with `kconf plan --out`") from None
    if not isinstance(whole, dict) or whole.get("kind") != "plan":
        raise ConfigurationError(f"{path} is not a plan; create one with `kconf plan --out`")
    if whole.get("format") != FORMAT:
        raise ConfigurationError(
            f"{path} was written by another version of kconf; this version reads format {FORMAT} only. Create a new"
            " plan with `kconf plan --out`"
        )
    try:
        return DifferencePlan(str(whole["cluster"]), [_difference(each) for each in whole["changes"]], {}, [])
    except (KeyError, TypeError, ValueError):
        raise ConfigurationError(f"{path} is not a plan: a change in it is incomplete") from None


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


def _difference(fields: Mapping[str, Any]) -> Difference:
    secret, place, source = fields["from"], fields["place"], fields["source"]
    return Difference(
        ChangeKind(fields["kind"]),
        Resource(_TYPES[fields["resource_type"]], _text(fields["resource_name"])),
        _text(fields["op"]),
        _text(fields["key"]),
        _text_or_none(fields["before"]),
        _text_or_none(fields["after"]),
        _text_or_none(fields["old"]),
        _text_or_none(fields["new"]),
        None if source is None else Source[source],
        None if place is None else SourceLocation(*place),
        bool(fields["sensitive"]),
        None if secret is None else SecretSource(*next(iter(secret.items()))),
        bool(fields["pruned"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)
