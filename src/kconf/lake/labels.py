"""Display names of resources: the same as in other commands, and readable for quotas, users and ACLs."""

from __future__ import annotations

import json
from typing import Any


def resource_text(row: dict[str, Any]) -> str:
    kind, name = row["resource_type"], row["resource_name"]
    match kind:
        case "broker" if not name:
            return "broker:default"
        case "quota":
            return f"quota:{_entity(name)}"
        case "acl":
            return f"acl:{_pattern(name)}"
        case _:
            return f"{kind}:{name}"


def _entity(text: str) -> str:
    try:
        parts = json.loads(text)
    except ValueError:
        return text
    return ",".join(f"{kind}={'(default)' if name is None else name}" for kind, name in parts.items())


def _pattern(text: str) -> str:
    """`2:3:orders`: the protocol's numbers for topic and literal."""
    from kconf.model.acl import AclType, PatternType

    kind, _, rest = text.partition(":")
    pattern, _, name = rest.partition(":")
    try:
        words = AclType(int(kind)).name.lower(), PatternType(int(pattern)).name.lower()
    except ValueError:
        return text
    return f"{words[0]}:{name}" + ("" if words[1] == "literal" else f" ({words[1]})")
