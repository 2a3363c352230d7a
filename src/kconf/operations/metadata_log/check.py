"""Compares a KRaft cluster with its own metadata log, and its brokers with each other.

Kafka 3.9 and 4.x may restore configs of a deleted topic when a broker restarts (ghost configs): DescribeConfigs shows a
value that the log does not have. A difference is reported only if the log has the same value before and after the
cluster was read, so that a concurrent change is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.model.entry import Source, own_source
from kconf.model.resource import Resource, ResourceType
from kconf.operations.state import read_state

if TYPE_CHECKING:
    from kconf.client.follow_sync import Follow
    from kconf.client.kraft.image import MetadataImage
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target

GHOST: Final = "ghost config"
MISSING: Final = "not in effect"
UNEVEN: Final = "differing brokers"
UNKNOWN: Final = "unknown key"

_COMPARED: Final = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.CLIENT_METRICS, ResourceType.GROUP)
_OWN_TO_A_BROKER: Final = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "broker.rack",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "early.start.listeners",
        "listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "node.id",
        "process.roles",
    }
)

Configs = dict[tuple[Resource, str], str]


class MetadataFinding(NamedTuple):
    """A problem, and what to do about it."""

    kind: str
    resource: Resource
    key: str
    detail: str
    cure: str


class CheckResult(NamedTuple):
    """The findings, what was not checked, and what could not be read."""

    findings: list[MetadataFinding]
    notes: list[str]
    unread: list[str]


def check_cluster(target: Target) -> CheckResult:
    """Check everything that the context allows."""
    if not target.has_controllers:
        state = read_state(target, ())
        note = "ghost configs were not checked: that requires the metadata log (--controllers HOST:PORT,…)"
        return CheckResult(check_state(state), [note], _missing(state))
    with target.open_controllers() as controllers, controllers.follow() as log:
        before = _configs(log.follower.image)
        state = read_state(target, ())
        _catch_up(log)
        after = _configs(log.follower.image)
    settled = {key: value for key, value in before.items() if after.get(key) == value}
    touched = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    found = [
        *_against_log(state, settled, touched, log.follower.image, target.context.bootstrap),
        *check_state(state),
    ]
    return CheckResult(found, [], _missing(state))


def check_state(state: ClusterState) -> list[MetadataFinding]:
    """The checks that need only the state of a cluster."""
    return [*_uneven(state), *_unknown(state)]


def _catch_up(log: Follow) -> None:
    """Read the log up to the last offset that was committed when the cluster was read."""
    log.step()
    end = log.follower.high_watermark
    while log.follower.applied < end:
        log.step()


def _configs(image: MetadataImage) -> Configs:
    return {
        (resource, key): value
        for resource, values in image.configs.items()
        if resource.type in _COMPARED
        for key, value in values.items()
    }


def _against_log(
    state: ClusterState,
    settled: Mapping[tuple[Resource, str], str],
    touched: set[tuple[Resource, str]],
    image: MetadataImage,
    bootstrap: str,
) -> Iterator[MetadataFinding]:
    sensitive = set(image.sensitive)
    shown: set[tuple[Resource, str]] = set()
    for resource, view in state.configs.items():
        own = own_source(resource)
        for entry in view.entries:
            name = (resource, entry.name)
            if entry.source != own or resource.type not in _COMPARED:
                continue
            shown.add(name)
            if name in touched or name in sensitive or entry.sensitive:
                continue
            logged = settled.get(name)
            if logged is None:
                yield _ghost(resource, entry.name, entry.value, bootstrap)
            elif logged != entry.value:
                detail = f"the metadata log has {logged}, the cluster shows {entry.value}"
                yield MetadataFinding(
                    GHOST, resource, entry.name, detail, _command("kconf set", str(resource), f"{entry.name}={logged}")
                )
    for resource, key in settled:
        readable = resource in state.configs
        if readable and (resource, key) not in shown and (resource, key) not in touched:
            detail = f"the metadata log has {settled[resource, key]}, the cluster does not show it"
            yield MetadataFinding(MISSING, resource, key, detail, "restart the brokers one by one and check again")


def _command(tool: str, *words: str) -> str:
    """A command to copy into a shell, quoted: names and values come from the cluster and are not trusted."""
    return " ".join([tool, *map(quote, words)])


def _ghost(resource: Resource, key: str, value: str | None, bootstrap: str) -> MetadataFinding:
    detail = (
        f"the cluster shows {value}, the metadata log has no such value: it belongs to a deleted {resource.type.word}"
    )
    where = ("--bootstrap-server", bootstrap, "--alter", f"--{resource.type.word}", resource.name)
    tool = _command("kafka-configs", *where)
    # Both must be sent: kconf set would send nothing, since the cluster shows this value already.
    return MetadataFinding(
        GHOST,
        resource,
        key,
        detail,
        f"{tool} --add-config {quote(f'{key}={value}')} && {tool} --delete-config {quote(key)}",
    )


def _uneven(state: ClusterState) -> Iterator[MetadataFinding]:
    """Keys with different effective values on the brokers, although not set for a single broker."""
    brokers = {each: view for each, view in state.configs.items() if each.type is ResourceType.BROKER and each.name}
    by_key: dict[str, dict[str, str | None]] = {}
    for broker, view in brokers.items():
        for entry in view.entries:
            if not entry.sensitive and entry.source != Source.BROKER and entry.name not in _OWN_TO_A_BROKER:
                by_key.setdefault(entry.name, {})[broker.name] = entry.value
    for key, values in sorted(by_key.items()):
        if len(values) > 1 and len(set(values.values())) > 1:
            detail = ", ".join(f"broker {name}: {value}" for name, value in sorted(values.items()))
            cure = f"set the same {key} in every server.properties, or run kconf set broker:default {key}=…"
            yield MetadataFinding(UNEVEN, Resource.brokers(), key, detail, cure)


def _unknown(state: ClusterState) -> Iterator[MetadataFinding]:
    """Keys that are set but unknown to Kafka and kconf: a misspelled key has no effect."""
    from kconf.configdef.lookup import known_key
    from kconf.model.entry import ValueType

    for resource, view in sorted(state.configs.items()):
        for entry in view.entries:
            is_unknown = entry.type is ValueType.UNKNOWN and known_key(resource.type, entry.name) is None
            if entry.source == own_source(resource) and is_unknown:
                detail = "unknown key; brokers accept any name"
                yield MetadataFinding(
                    UNKNOWN, resource, entry.name, detail, _command("kconf unset", str(resource), entry.name)
                )


def _missing(state: ClusterState) -> list[str]:
    unread = [each for each in state.missing if not each.is_absent]
    return [f"{each.what} could not be read: {each.failure.message or each.failure.code.name}" for each in unread]
