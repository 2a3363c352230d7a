"""The risks of config changes, by name: commands refuse them, policies forbid them.

A risk is found by comparing the effective values before and after, whatever their source. None is an unknown value,
which counts as the worse case. `unclean-leader-election` and `min-insync-replicas` are also risks of a state: a cluster
has them until the value is changed.
"""

from __future__ import annotations

from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from kconf.configdef.units import MINUS_ONE_IS_UNLIMITED, shown_value


class RiskName(StrEnum):
    DATA_LOSS = "data-loss"
    MIN_INSYNC_REPLICAS = "min-insync-replicas"
    UNCLEAN_LEADER_ELECTION = "unclean-leader-election"
    COMPACTION = "compaction"
    MESSAGE_SIZE = "message-size"
    MESSAGE_TIMESTAMPS = "message-timestamps"
    QUOTA_BELOW_USAGE = "quota-below-usage"
    LOCKOUT = "lockout"


RISKS: Final = {
    RiskName.DATA_LOSS: "Data is deleted permanently: shorter retention, an added cleanup policy, a deleted topic.",
    RiskName.MIN_INSYNC_REPLICAS: "More replicas must be in sync than a topic has: producers with acks=all fail.",
    RiskName.UNCLEAN_LEADER_ELECTION: "An out-of-sync replica may become leader: acknowledged records are lost.",
    RiskName.COMPACTION: "A topic becomes compacted: records without a key are rejected.",
    RiskName.MESSAGE_SIZE: "The maximum batch size is reduced: larger batches are rejected.",
    RiskName.MESSAGE_TIMESTAMPS: "The accepted timestamp range is narrowed: records outside it are rejected.",
    RiskName.QUOTA_BELOW_USAGE: "A quota is set below the rate in the --usage file: clients are throttled.",
    RiskName.LOCKOUT: "The brokers no longer accept connections from this machine, or from each other.",
}
"""A sentence about each risk."""


class Risk(NamedTuple):
    """A risk of one change, and why. `allowed`: a rule of the policy allows it. `topics` inherit the value."""

    name: RiskName
    why: str
    allowed: bool = False
    topics: tuple[str, ...] = ()


_RETENTION: Final = frozenset(each for each in MINUS_ONE_IS_UNLIMITED if "local." not in each)
_POLICIES: Final = ("cleanup.policy", "log.cleanup.policy")
_MESSAGE_SIZES: Final = ("max.message.bytes", "message.max.bytes")
_UNCLEAN: Final = "unclean.leader.election.enable"
_WORDS: Final = (*_POLICIES, _UNCLEAN)
MIN_INSYNC: Final = "min.insync.replicas"
_TIMESTAMPS: Final = {
    f"{prefix}message.timestamp.{name}": words
    for prefix in ("", "log.")
    for name, words in (
        ("before.max.ms", "older than {}"),
        ("after.max.ms", "more than {} ahead of the broker's clock"),
        ("difference.max.ms", "more than {} from the broker's clock"),
    )
}
_SWITCHES: Final = {
    "remote.log.delete.on.disable": ("true", "remote data is deleted when tiered storage is disabled"),
    "remote.storage.enable": ("false", "data in the remote tier may be deleted"),
}
OF_TOPICS: Final = frozenset([MIN_INSYNC, _UNCLEAN, "cleanup.policy", "max.message.bytes"]) | {
    each for each in _TIMESTAMPS if not each.startswith("log.")
}
"""The topic keys with a risk other than data loss: one that topics may also inherit."""


def data_loss(key: str, old: str | None, new: str | None) -> str:
    """Why data may be lost, or nothing. Old and new are in effect before and after."""
    if key in _RETENTION:
        return "" if _amount(new, unknown=-inf) >= _amount(old, unknown=inf) else "retention is reduced"
    if key in _POLICIES:
        gained = _items(new) - _items(old)
        if "delete" in gained:
            return "old segments will be deleted"
        return "older records of each key will be deleted" if "compact" in gained else ""
    value, why = _SWITCHES.get(key, ("", ""))
    return why if value and _word(new) == value else ""


def topic_risks(key: str, old: str | None, new: str | None, replicas: int | None = None) -> list[Risk]:
    """The risks for a topic, other than data loss. Without `replicas`, risks that depend on them are not checked."""
    if new is None or (key not in _WORDS and _limit(new) == inf):  # the cluster rejects what is not a number
        return []
    if key == MIN_INSYNC and replicas is not None:
        return _too_few_replicas(old, new, replicas)
    if key == _UNCLEAN and _word(new) == "true" and _word(old) != "true":
        why = "an out-of-sync replica may become leader and drop acknowledged records"
        return [Risk(RiskName.UNCLEAN_LEADER_ELECTION, why)]
    if key in _POLICIES and "compact" in _items(new) - _items(old):
        return [Risk(RiskName.COMPACTION, "records without a key are rejected")]
    if key in _MESSAGE_SIZES and _limit(new) < _limit(old, unknown=inf):
        why = f"batches larger than {shown_value(key, new)} are rejected{_until(key, old)}"
        return [Risk(RiskName.MESSAGE_SIZE, why)]
    if key in _TIMESTAMPS and _limit(new) < _limit(old, unknown=inf):
        bound = _TIMESTAMPS[key].format(shown_value(key, new))
        return [Risk(RiskName.MESSAGE_TIMESTAMPS, f"records with a timestamp {bound} are rejected{_until(key, old)}")]
    return []


def state_risks(key: str, value: str | None, replicas: int | None) -> list[Risk]:
    """The risks for a topic that an effective value has."""
    return topic_risks(key, "0" if key == MIN_INSYNC else "false", value, replicas) if key in STATE_KEYS else []


STATE_KEYS: Final = (MIN_INSYNC, _UNCLEAN)


def shut_out(key: str, old: str | None, new: str | None) -> str:
    """Which addresses a broker key leaves without connections, as a sentence, or nothing."""
    name = base_name(key)
    if name in _CONNECTIONS and (new or "").strip() == "0":
        return f"{key}=0 allows no connections"
    if name != CONNECTION_OVERRIDES:
        return ""
    before = connection_limits(old)
    hosts = [host for host, count in connection_limits(new).items() if count == 0 and before.get(host) != 0]
    return f"{', '.join(hosts)} can no longer connect" if hosts else ""


_CONNECTIONS: Final = ("max.connections", "max.connections.per.ip", "max.connection.creation.rate")
CONNECTION_OVERRIDES: Final = "max.connections.per.ip.overrides"


def connection_limits(text: str | None) -> dict[str, int | None]:
    """Connections by host, as in `localhost:0,10.0.0.7:100`. None: not a number."""
    found: dict[str, int | None] = {}
    for each in (text or "").split(","):
        host, colon, count = each.strip().rpartition(":")
        if colon:
            found[host.strip()] = int(count) if count.strip().isdigit() else None
    return found


def base_name(key: str) -> str:
    """A broker key without `listener.name.<listener>.` before it."""
    return key.split(".", 3)[3] if key.startswith("listener.name.") and key.count(".") > 2 else key


def _too_few_replicas(old: str | None, new: str, replicas: int) -> list[Risk]:
    needed = _limit(new)
    if needed <= replicas or needed <= _limit(old, unknown=0):
        return []
    has = f"{replicas} replica{'' if replicas == 1 else 's'}"
    why = f"{new} replicas must be in sync and the topic has {has}, so producers with acks=all fail"
    return [Risk(RiskName.MIN_INSYNC_REPLICAS, why)]


def _until(key: str, old: str | None) -> str:
    if old is None:
        return "; the current limit is unknown"
    return f"; the current limit is {shown_value(key, old)}" if _limit(old, unknown=inf) < 2**53 else ""


def _word(value: str | None) -> str:
    return (value or "").strip().lower()


def _items(value: str | None) -> set[str]:
    return {each.strip() for each in (value or "").split(",") if each.strip()}


def _limit(text: str | None, *, unknown: float = inf) -> float:
    try:
        return int(text or "")
    except ValueError:
        return unknown


def _amount(text: str | None, *, unknown: float) -> float:
    """An amount of retention. An unknown one counts as unlimited before, and as none after."""
    number = _limit(text, unknown=unknown)
    return inf if number == -1 else number
