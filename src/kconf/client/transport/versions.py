"""Chooses the API versions for a node."""

from __future__ import annotations

from typing import Any

from kconf.client.calls.base import Call, NodeVersions
from kconf.errors import UnsupportedVersion
from kconf.protocol.apis import Api


def choose_version(node: NodeVersions, call: Call[Any, Any, Any]) -> tuple[Call[Any, Any, Any], int]:
    """The call, or one of its fallbacks, and the version to send it in."""
    try:
        return call, highest_common_version(node, call.api, call.min_version, call.hint)
    except UnsupportedVersion:
        fallback = call.fallback()
        if fallback is None:
            raise
        return choose_version(node, fallback)


def highest_common_version(node: NodeVersions, api: Api, min_version: int, hint: str = "") -> int:
    """The highest version that both sides support, at least `min_version`."""
    supported = node.versions.get(api.key)
    what = f"{api.name} (API {api.key})"
    if supported is None:
        raise UnsupportedVersion(_with_hint(f"{node.name} does not support {what}", hint))
    low, high = max(supported[0], api.min, min_version), min(supported[1], api.max)
    if low > high:
        needed = f"{max(api.min, min_version)} to {api.max}"
        fact = f"{node.name} supports versions {supported[0]} to {supported[1]} of {what}, but {needed} are required"
        raise UnsupportedVersion(_with_hint(fact, hint))
    return high


def _with_hint(fact: str, hint: str) -> str:
    return f"{fact}; {hint}" if hint else fact
