"""Waits until all brokers of a cluster show a change.

A controller responds before the brokers know of the change, so the next command could show the old state. All brokers
are checked, because any of them may answer that command.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kconf.configdef.lookup import known_key
from kconf.engine.declarative.diff import Difference, same
from kconf.errors import BrokerNotAvailable, ConnectionFailed, RequestTimedOut
from kconf.model.entry import ValueType
from kconf.model.journal import ChangeKind
from kconf.model.resource import ResourceType
from kconf.operations.bulk import Progress, no_progress
from kconf.operations.declarative.staleness import read_again
from kconf.operations.errors import NotVisible
from kconf.operations.state import SetValues, set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target

_FIRST_PAUSE: Final = 0.05  # seconds between two polls; doubles each time
_LONGEST_PAUSE: Final = 1.0
_MOST_NAMED: Final = 3


def wait_until_visible(
    target: Target,
    found: Sequence[Difference],
    limit: float,
    progress: Progress = no_progress,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Wait at most `limit` seconds; raises NotVisible. Returns the names of resources that cannot be read."""
    deadline, pause, shown = clock() + limit, _FIRST_PAUSE, 0
    views = [_BrokerView(each, list(found)) for each in _brokers(target)]
    with progress(len(found)) as advance:
        while True:
            for each in views:
                each.look()
            count = len(found) - max(len(each.hidden) for each in views)
            advance(max(0, count - shown))
            shown = max(count, shown)
            if shown == len(found):
                return sorted(set().union(*(each.unread for each in views)))
            if clock() >= deadline:
                raise NotVisible(_sentence([each for each in views if each.hidden], limit))
            sleep(min(pause, max(0.0, deadline - clock())))
            pause = min(2 * pause, _LONGEST_PAUSE)


@dataclass
class _BrokerView:
    """What one broker does not show yet, and what cannot be read."""

    target: Target
    hidden: list[Difference]
    unread: set[str] = field(default_factory=set)

    def look(self) -> None:
        if not self.hidden:
            return
        try:
            state = read_again(self.target, self.hidden)
        except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable):
            return
        self.unread |= {each.what for each in state.missing}
        self.hidden = _hidden(self.hidden, state)


def _brokers(target: Target) -> list[Target]:
    """One target per broker address."""
    with target.open() as admin:
        if admin.settings.bootstrap.controllers:
            return [target]
        nodes = admin.describe_cluster().nodes.values()
    hosts = ((f"[{each.host}]" if ":" in each.host else each.host, each.port) for each in nodes)
    addresses = dict.fromkeys(f"{host}:{port}" for host, port in hosts)
    return [target._replace(context=target.context._replace(bootstrap=each)) for each in addresses] or [target]


def _hidden(found: Sequence[Difference], state: ClusterState) -> list[Difference]:
    """The differences that a broker does not show yet."""
    values = set_values(state)
    missing = {each.what for each in state.missing}
    return [each for each in found if not _is_unread(each, missing) and not _is_shown(each, values, state)]


def _is_unread(each: Difference, missing: Collection[str]) -> bool:
    from kconf.client.cluster_reader import PARTS

    part = next(part for part, kind in PARTS.items() if kind is each.resource.type)
    name = str(each.resource).replace("scram:", "user:")
    return part in missing or name in missing


def _is_shown(each: Difference, values: SetValues, state: ClusterState) -> bool:
    name = each.resource, each.key
    if each.kind is ChangeKind.TOPIC:
        return _is_topic_shown(each, state)
    if each.op == "delete":
        return name not in values
    if name not in values:
        return not each.sensitive and _is_inherited(each, state)
    value = values[name]
    if each.resource.type is ResourceType.SCRAM:
        return value == each.after
    if each.sensitive or value is None or each.after is None:
        return True  # it is set, but its value cannot be read
    key = known_key(each.resource.type, each.key)
    return same(key.type if key is not None else ValueType.STRING, value, each.after)


def _is_inherited(each: Difference, state: ClusterState) -> bool:
    """Whether a resource inherits the value."""
    view = state.configs.get(each.resource)
    entry = next((one for one in view.entries if one.name == each.key), None) if view is not None else None
    return entry is not None and entry.value is not None and entry.value == each.after


def _is_topic_shown(each: Difference, state: ClusterState) -> bool:
    import json

    shape = state.topics.get(each.resource.name)
    if each.op == "delete" or shape is None:
        return each.op == "delete" and shape is None
    wanted = json.loads(each.after or "{}").get("partitions")
    return wanted is None or shape.partitions == wanted


def _sentence(views: Sequence[_BrokerView], limit: float) -> str:
    names = list(dict.fromkeys(str(each.resource) for view in views for each in view.hidden))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    where = ", ".join(each.target.context.bootstrap for each in views)
    return (
        f"all changes were accepted, but after {limit:g} s {where} does not show the changes to "
        f"{', '.join(names[:_MOST_NAMED])}{more}; run `kconf plan` later to check, or set a longer --wait"
    )
