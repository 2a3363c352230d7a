"""What an operation would change, key by key: the common form for configs, quotas, credentials, ACLs and topics.

A `PlannedChange` has the values set on the resource itself (`before`, `after`) and the effective values (`old`, `new`),
which may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.engine.risks import Risk, RiskName
from kconf.errors import ApiError
from kconf.model.entry import Source
from kconf.model.resource import Resource

if TYPE_CHECKING:
    from kconf.engine.policy.rules import Finding

CONFIG: Final = "config"
TOPIC: Final = "topic"

UNKNOWN: Final = "(unknown)"
"""Displayed for a value that the caller is not authorized to read."""

SOURCES: Final = {
    Source.UNKNOWN: "unknown",
    Source.TOPIC: "topic",
    Source.BROKER: "broker",
    Source.DEFAULT_BROKER: "default broker",
    Source.STATIC: "server.properties",
    Source.DEFAULT: "default",
    Source.LOGGER: "broker logger",
    Source.CLIENT_METRICS: "client metrics",
    Source.GROUP: "group",
}


class PlannedChange(NamedTuple):
    """A change of one key. None: not set, or no such resource. Sensitive values are replaced by `[hidden]`.

    `kind` is `config` (also for quotas, credentials and ACLs, by resource type) or `topic`. `risks` are what the change
    may break. For a topic that would be created or get partitions, `after` is a display text, because there is no
    journal entry yet. `shown` has fields that replace or extend those of the result. `old_unknown`: the caller is not
    authorized to describe the resource, so its values are unknown.
    """

    resource: Resource
    key: str
    before: str | None
    after: str | None
    op: str = "set"
    old: str | None = None
    new: str | None = None
    source: str = ""
    sensitive: bool = False
    risks: tuple[Risk, ...] = ()
    kind: str = CONFIG
    shown: Mapping[str, Any] = {}
    old_unknown: bool = False

    @property
    def loss(self) -> str:
        """Why data may be lost permanently, or empty."""
        return next((each.why for each in self.risks if each.name is RiskName.DATA_LOSS), "")

    @property
    def unchanged(self) -> bool:
        return self.before == self.after and not self.sensitive


def keys_shown(old_key: str, new_key: str) -> dict[str, str]:
    """The `shown` fields for values that come from another key; empty if they do not."""
    return {name: key for name, key in (("old_key", old_key), ("new_key", new_key)) if key}


class ChangePlan(NamedTuple):
    """The changes, the resources for which they fail, and the policy rules that only warn.

    `revision` is that of the state used for planning, if the cluster is a kconf server.
    """

    changes: list[PlannedChange]
    failures: dict[Resource, ApiError]
    warnings: tuple[Finding, ...] = ()
    revision: int | None = None

    @property
    def resources(self) -> list[Resource]:
        """The resources that would be altered, in order."""
        return [each for each in dict.fromkeys(one.resource for one in self.changes) if each not in self.failures]
