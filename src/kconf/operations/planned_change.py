"""What a change would do, key by key: the common form of everything that people's commands alter.

Configs, quotas, credentials, ACLs and topics all become `PlannedChange`s, as they are all lines of a journal. An edit
knows what is set at the resource itself (`before`, `after`) and what holds there (`old`, `new`), for those may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.errors import ApiError, ErrorCode, InvalidConfig, KafkaError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import Entry, Source, ValueType, own_source
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.configdef.key import ConfigKey
    from kconf.model.entry import View

HIDDEN: Final = "[hidden]"
CONFIG: Final = "config"
TOPIC: Final = "topic"

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
_NOT_ALLOWED: Final = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)


class PlannedChange(NamedTuple):
    """One line of a plan. None: not set, or not there. A sensitive value is never in it; `[hidden]` stands for one.

    `kind` is `config` (also for quotas, credentials and ACLs, by the type of the resource) or `topic`. `loss` says why
    data may be lost for good, or is empty. A topic that is to be made or grown has no text of the journal yet: its
    `after` is for people. `shown` has what is told in place of, or beside, the fields of the answer.
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
    loss: str = ""
    kind: str = CONFIG
    shown: Mapping[str, Any] = {}

    @property
    def unchanged(self) -> bool:
        return self.before == self.after and not self.sensitive


class ChangePlan(NamedTuple):
    """What would be done, and whom it cannot be done to."""

    edits: list[PlannedChange]
    failures: dict[Resource, ApiError]

    @property
    def resources(self) -> list[Resource]:
        """Those that would be altered, in their order."""
        return [each for each in dict.fromkeys(edit.resource for edit in self.edits) if each not in self.failures]


Wishes = Mapping[Resource, Sequence[AlterConfigOp]]


def plan_configs(admin: SyncAdminClient, wishes: Wishes, views: Mapping[Resource, View] | None = None) -> ChangePlan:
    """Compare wishes with what a cluster has: `views`, where that is known already."""
    from kconf.operations.data_loss import flag_data_loss

    failures: dict[Resource, ApiError] = {}
    if views is None:
        views, failures = _views(admin, wishes)
    edits = []
    for resource, wanted in wishes.items():
        if resource not in views:
            continue
        entries = {entry.name: entry for entry in views[resource].entries}
        try:
            edits += [flag_data_loss(_edit(resource, each, entries.get(each.key))) for each in wanted]
        except KafkaError as error:
            failures[resource] = error.failure()
    return ChangePlan(edits, failures)


def _views(admin: SyncAdminClient, wishes: Wishes) -> tuple[dict[Resource, View], dict[Resource, ApiError]]:
    """The keys in question. Who may alter but not describe still gets a plan, without the old values."""
    from kconf.model.entry import View

    keys = {resource: [each.key for each in wanted] for resource, wanted in wishes.items()}
    described = admin.describe_configs(wishes, keys=keys, synonyms=True)
    failures = described.failures
    unseen = {each for each, failure in failures.items() if failure.code in _NOT_ALLOWED}
    views = {each: described[each] for each in wishes if each not in failures}
    views.update(dict.fromkeys(unseen, View(())))
    return views, {each: failure for each, failure in failures.items() if each not in unseen}


def _edit(resource: Resource, wish: AlterConfigOp, entry: Entry | None) -> PlannedChange:
    from kconf.cli.common.catalog import known_key

    key = known_key(resource.type, wish.key)
    own = own_source(resource)
    is_own = entry is not None and entry.source == own
    if is_sensitive(resource, wish.key, key, entry):
        before = HIDDEN if is_own else None
        after = None if wish.op == OpType.DELETE else HIDDEN
        return PlannedChange(
            resource, wish.key, before, after, OpType(wish.op).name.lower(), before, after, _source(entry), True
        )
    before = entry.value if entry is not None and is_own else None
    after = _after(wish, key, entry, before)
    old = entry.value if entry is not None else None
    new = after if after is not None else inherited(entry, own, key)
    return PlannedChange(resource, wish.key, before, after, OpType(wish.op).name.lower(), old, new, _source(entry))


def _after(wish: AlterConfigOp, key: ConfigKey | None, entry: Entry | None, before: str | None) -> str | None:
    if wish.op == OpType.DELETE:
        return None
    if wish.op == OpType.SET:
        return wish.value
    from kconf.configdef.key import ConfigKey
    from kconf.engine.configs.list_ops import combined

    if key is None and entry is not None and entry.type is ValueType.LIST:
        key = ConfigKey(name=wish.key, type=ValueType.LIST)
    if key is None:
        raise InvalidConfig(f"{wish.key} is no key that kconf knows here, so it is for set and unset only")
    return combined(wish.op, key, wish.key, before, wish.value or "")


def inherited(entry: Entry | None, own: Source, key: ConfigKey | None = None) -> str | None:
    """What would hold without the resource's own value, as far as the cluster and the catalog tell.

    A rung that counts in other units (log.retention.hours for retention.ms) is told as it was set there.
    """
    if entry is None:
        return None
    if entry.source != own:
        return entry.value
    below = next((each for each in entry.synonyms if each.source != own), None)
    if below is None:
        return key.default if key is not None and entry.synonyms else None
    factor = next((each.factor for each in key.fallbacks if each.name == below.name), 1) if key is not None else 1
    if factor == 1 or below.value is None:
        return below.value
    return str(int(below.value) * factor) if int(below.value) > 0 else below.value


def is_sensitive(resource: Resource, name: str, key: ConfigKey | None, entry: Entry | None) -> bool:
    """A broker's key that nobody knows counts as a secret, as it does to Kafka."""
    if entry is not None and entry.sensitive:
        return True
    if key is not None:
        return key.sensitive
    from kconf.cli.compat.kafka_configs.secrets import is_secret

    return is_secret("brokers" if resource.type is ResourceType.BROKER else "", name)


def _source(entry: Entry | None) -> str:
    return "" if entry is None else SOURCES[entry.source]
