"""Describe, replace, alter and list configs. Requests for the configs and loggers of a broker go to that broker."""

from __future__ import annotations

import re
import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final

from kconf.client.calls.amounts import plain_ops, plain_value
from kconf.client.calls.arguments import items_of, mapping_of, ops_of, resources_of, text_of
from kconf.client.calls.base import ANY, Call, CallResult, ClusterCall, NodeVersions, PerItemCall, api_error
from kconf.client.calls.describe_decoder import FLEXIBLE, EntryReader
from kconf.errors import ApiError, InvalidRequest, RemoteProtocolError, UnsupportedVersion
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import View
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results
from kconf.protocol.codec.varint import Malformed, read_uvarint, skip_tags

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_OF_ONE_BROKER = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
_RESULT: Final = struct.Struct(">h")
_SIZE = struct.Struct(">h")
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")
_REVISION_TAG: Final = 40003
_STALE_TAG: Final = 40005

Keys = Mapping[Resource, Sequence[str]] | Iterable[str]
"""The keys to describe: by resource, or the same for all."""

ALTER_CONFIGS_IS_DEPRECATED: Final = (
    "alter_configs is deprecated (KIP-339): it removes every key that is not given; use incremental_alter_configs"
)
NO_INCREMENTAL = "before Kafka 2.3, only alter_configs exists, which replaces all values of a resource"


class DescribedConfigs(Results[Resource, View]):
    """The entries of each resource. `revision` is the revision of the state; only kconf servers return it.

    `stale`: the server may miss changes by other servers, since it has no session with ZooKeeper.
    """

    __slots__ = ("revision", "stale")

    def __init__(
        self, items: Mapping[Resource, View | ApiError], revision: int | None = None, *, stale: bool = False
    ) -> None:
        super().__init__(items)
        self.revision, self.stale = revision, stale

    def __repr__(self) -> str:
        return super().__repr__() if self.revision is None else f"{super().__repr__()} at revision {self.revision}"


def node_of(resource: Resource) -> int:
    """The broker that must answer for a resource, or ANY."""
    if resource.type in _OF_ONE_BROKER and _INTEGER.fullmatch(resource.name):
        number = int(resource.name)
        return number if number >= 0 else ANY
    return ANY


def _keys_of(resources: Sequence[Resource], keys: Keys | None) -> Mapping[Resource, Sequence[str]]:
    if isinstance(keys, str):
        raise InvalidRequest(f"keys must be a list of names, or a mapping of resources to lists of names, not {keys!r}")
    if keys is None:
        return {}
    if isinstance(keys, Mapping):
        found = mapping_of("keys", keys, Resource)
        return {each: items_of(f"keys[{each}]", names, str) for each, names in found.items()}
    names = items_of("keys", keys, str)
    return dict.fromkeys(resources, names) if names else {}


def _check_known(names: Sequence[str], outcomes: Mapping[Resource, View | ApiError]) -> None:
    """Raise an error for a key that no resource has, since brokers ignore it without an error.

    The cluster-wide default only lists keys that are set, so it does not show whether a key exists.
    """
    views = {resource: each for resource, each in outcomes.items() if not isinstance(each, ApiError)}
    if not names or len(views) < len(outcomes) or all(each == Resource.brokers() for each in views):
        return
    found = {entry.name for each in views.values() for entry in each.entries}
    missing = [name for name in names if name not in found]
    if not missing:
        return
    from kconf.configdef.lookup import known_key, similar_key

    kinds = dict.fromkeys(resource.type for resource in views)
    for name in missing:
        if not any(known_key(kind, name) for kind in kinds):
            near = next(filter(None, (similar_key(kind, name) for kind in kinds)), None)
            suggestion = f"; did you mean {near}?" if near else ""
            raise InvalidRequest(f"keys: {', '.join(each.word for each in kinds)} has no key {name!r}{suggestion}")


class DescribeConfigs(Call[Resource, View, DescribedConfigs]):
    name = "DescribeConfigs"

    def __init__(
        self,
        resources: Iterable[Resource],
        *,
        keys: Keys | None = None,
        synonyms: bool = False,
        documentation: bool = False,
    ) -> None:
        super().__init__(dict.fromkeys(resources_of("resources", resources)))
        self._keys = _keys_of(self.items, keys)
        self._listed = list(dict.fromkeys(keys)) if keys is not None and not isinstance(keys, Mapping) else []
        self._synonyms, self._documentation = synonyms, documentation
        self._readers: dict[tuple[int, int], EntryReader] = {}
        self._revisions: list[int] = []
        self._stale = False

    def route_of(self, item: Resource) -> int:
        return node_of(item)

    def group(self, item: Resource) -> Hashable:
        """Newer resource types get separate requests, since an unknown type fails the whole request."""
        return None if item.type in (ResourceType.TOPIC, ResourceType.BROKER) else item.type

    def write(self, node: NodeVersions, version: int, items: Sequence[Resource]) -> object:
        from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

        keys = self._keys
        wanted = [DescribeConfigsResource(each.type, each.name, keys.get(each)) for each in items]
        return DescribeConfigsRequest(wanted, self._synonyms, self._documentation)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[Resource]) -> CallResult:
        try:
            return self._read_response(version, frame, start)
        except (struct.error, IndexError):
            raise RemoteProtocolError(f"DescribeConfigsResponse v{version} is truncated") from None
        except Malformed as error:
            raise RemoteProtocolError(f"DescribeConfigsResponse v{version} {error}") from None

    def _read_response(self, version: int, data: bytes, p: int) -> CallResult:
        flexible = version >= FLEXIBLE
        outcomes: dict[Resource, View | ApiError] = {}
        (throttle,) = _I32.unpack_from(data, p)
        p += 4
        if flexible:
            count, p = read_uvarint(data, p)
            count -= 1
        else:
            (count,) = _I32.unpack_from(data, p)
            p += 4
        if count > len(data) - p:
            raise Malformed("has more results than allowed")
        for _ in range(count):
            (code,) = _RESULT.unpack_from(data, p)
            message, p = _text(data, p + 2, flexible)
            kind = data[p]
            name, p = _text(data, p + 1, flexible)
            view, p = self._reader(version, kind).view(data, p)
            if flexible:
                p = skip_tags(data, p) if data[p] else p + 1
            resource = Resource(_TYPES.get(kind, ResourceType.UNKNOWN), name or "")
            outcomes[resource] = api_error(code, message) if code else view
        if flexible:
            self._tags(data, p)
        elif p > len(data):
            raise Malformed("is truncated")
        return CallResult(outcomes, throttle)

    def _reader(self, version: int, kind: int) -> EntryReader:
        key = (version, 0 if version else kind)
        found = self._readers.get(key)
        if found is None:
            found = self._readers[key] = EntryReader(version, kind)
        return found

    def _tags(self, data: bytes, p: int) -> None:
        count, p = read_uvarint(data, p)
        for _ in range(count):
            tag, p = read_uvarint(data, p)
            size, p = read_uvarint(data, p)
            if tag == _REVISION_TAG and size == 8:
                self._revisions.append(_I64.unpack_from(data, p)[0])
            self._stale = self._stale or (tag == _STALE_TAG and data[p : p + size] == b"\x01")
            p += size
        if p > len(data):
            raise Malformed("is truncated")

    def finish(self, outcomes: dict[Resource, View | ApiError]) -> DescribedConfigs:
        _check_known(self._listed, outcomes)
        # Responses may come from several snapshots. Compare-and-set is safe only with the oldest.
        return DescribedConfigs(outcomes, min(self._revisions, default=None), stale=self._stale)


_TYPES = {int(each): each for each in ResourceType}


def _text(data: bytes, p: int, flexible: bool) -> tuple[str | None, int]:
    if flexible:
        size, p = read_uvarint(data, p)
        size -= 1
    else:
        (size,) = _SIZE.unpack_from(data, p)
        p += 2
    if size < 0:
        return None, p
    return data[p : p + size].decode("utf-8", "replace"), p + size


class AlterConfigs(PerItemCall[Resource, None]):
    """Replaces all configs of a resource: keys that are not given are removed."""

    name = "AlterConfigs"
    batch_factor = 4  # the controller commits each request atomically

    def __init__(self, configs: Mapping[Resource, Mapping[str, str]], *, validate_only: bool = False) -> None:
        super().__init__(mapping_of("configs", configs, Resource))
        self.configs: Mapping[Resource, Mapping[str, str]] = {
            resource: {
                key: plain_value(resource.type, key, text_of(f"configs[{resource}]: {key}", value))
                for key, value in mapping_of(f"configs[{resource}]", each, str).items()
            }
            for resource, each in configs.items()
        }
        self.validate_only = validate_only
        self.is_change = not validate_only

    def route_of(self, item: Resource) -> int:
        return node_of(item)

    def write(self, node: NodeVersions, version: int, items: Sequence[Resource]) -> object:
        from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource

        resources = [
            AlterConfigsResource(
                each.type, each.name, [AlterableConfig(key, value) for key, value in self.configs[each].items()]
            )
            for each in items
        ]
        return AlterConfigsRequest(resources, self.validate_only)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[Resource]) -> CallResult:
        return _altered(self, version, frame, start)


class IncrementalAlterConfigs(PerItemCall[Resource, None]):
    """KIP-339. With an expected revision (kconf only), a resource that has changed since then is not altered.

    Values may have units. Without `has_units`, they are sent as they are: those of a gateway's clients are not changed.
    """

    name = "IncrementalAlterConfigs"
    batch_factor = 4
    hint = NO_INCREMENTAL

    def __init__(
        self,
        alterations: Mapping[Resource, Sequence[AlterConfigOp]],
        *,
        validate_only: bool = False,
        expected: Mapping[Resource, int] | None = None,
        reason: str | None = None,
        has_units: bool = True,
    ) -> None:
        super().__init__(mapping_of("alterations", alterations, Resource))
        given = {resource: ops_of("alterations", resource, each) for resource, each in alterations.items()}
        self.alterations = {
            resource: plain_ops(resource.type, each) if has_units else each for resource, each in given.items()
        }
        self.validate_only = validate_only
        self._expected, self.reason = mapping_of("expected", expected or {}, Resource), reason
        stray = [str(each) for each in self._expected if each not in alterations]
        if stray:
            raise InvalidRequest(f"`expected` contains resources that are not altered: {', '.join(sorted(stray))}")
        self.is_change = not validate_only
        # A retry after success would fail, since the revision has changed.
        self.repeatable = not self._expected
        self.min_version = 1 if self._expected else 0

    def route_of(self, item: Resource) -> int:
        return node_of(item)

    def write(self, node: NodeVersions, version: int, items: Sequence[Resource]) -> object:
        from kconf.protocol.messages.incremental_alter_configs import (
            IncrementalAlterableConfig,
            IncrementalAlterConfigsRequest,
            IncrementalAlterConfigsResource,
        )

        if self._expected and not node.is_kconf:
            raise UnsupportedVersion(f"{node.name} is not a kconf server and would ignore the expected revision")
        resources = [
            IncrementalAlterConfigsResource(
                each.type,
                each.name,
                [IncrementalAlterableConfig(key, op, value) for op, key, value in self.alterations[each]],
                self._expected.get(each, -1),
            )
            for each in items
        ]
        reason = self.reason if node.is_kconf and version >= 1 else None
        return IncrementalAlterConfigsRequest(resources, self.validate_only, reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[Resource]) -> CallResult:
        return _altered(self, version, frame, start)


def updates(configs: Mapping[Resource, Mapping[str, str]]) -> dict[Resource, list[AlterConfigOp]]:
    """KIP-248's incremental update: an empty value removes a key. Keys that are not given are unchanged."""
    return {
        resource: [
            AlterConfigOp(OpType.SET, key, value) if value not in ("", None) else AlterConfigOp(OpType.DELETE, key)
            for key, value in mapping_of(f"configs[{resource}]", each, str).items()
        ]
        for resource, each in mapping_of("configs", configs, Resource).items()
    }


def _altered(call: PerItemCall[Resource, None], version: int, frame: bytes, start: int) -> CallResult:
    body = call.body(version, frame, start)
    outcomes = {
        Resource(_TYPES.get(each.resource_type, ResourceType.UNKNOWN), each.resource_name): (
            api_error(each.error_code, each.error_message) if each.error_code else None
        )
        for each in body.responses
    }
    return CallResult(outcomes, body.throttle_time_ms)


class ListConfigResources(ClusterCall[list[Resource]]):
    """Resources that have configs. Before Kafka 4.1, brokers list only client metrics subscriptions."""

    name = "ListConfigResources"

    def __init__(self, types: Iterable[ResourceType] = ()) -> None:
        super().__init__()
        self._types = [int(each) for each in items_of("types", types, ResourceType)]
        self.min_version = 0 if self._types == [ResourceType.CLIENT_METRICS] else 1
        self.hint = "only client metrics can be listed before Kafka 4.1, and nothing before 3.7"

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.list_config_resources import ListConfigResourcesRequest

        return ListConfigResourcesRequest(self._types)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, None)}, body.throttle_time_ms)
        found = [
            Resource(_TYPES.get(each.resource_type, ResourceType.UNKNOWN), each.resource_name)
            for each in body.config_resources
        ]
        return CallResult({None: sorted(found)}, body.throttle_time_ms)


def alter_configs_call(
    configs: Mapping[Resource, Mapping[str, str]], validate_only: bool, incremental_update: bool
) -> PerItemCall[Resource, None]:
    """The call for alter_configs.

    With `incremental_update`, IncrementalAlterConfigs, since Kafka never had KIP-248's flag.
    """
    if incremental_update:
        return IncrementalAlterConfigs(updates(configs), validate_only=validate_only)
    return AlterConfigs(configs, validate_only=validate_only)
