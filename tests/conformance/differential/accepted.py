"""Allowed differences, with reasons. Each is as narrow as possible; a run fails if one is never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kconf.configdef.topic import TOPIC_REMOVED
from kconf.engine.topics.placement import MOST_PARTITIONS
from kconf.protocol.apis import API_VERSIONS, BY_NAME
from tests.conformance.differential.ask import SERVED, Ending
from tests.conformance.differential.compare import MISSING, Difference, at
from tests.conformance.differential.draw import BROKER, BROKER_LOGGER

_COMPARED = frozenset(BY_NAME[name].key for name in SERVED)
_ELR = "eligible.leader.replicas.version"
INVALID_CONFIG = 40
OWN_LEVEL = 2  # DYNAMIC_BROKER_CONFIG


@dataclass(frozen=True, slots=True)
class Accepted:
    """An intended difference. `rare`: why a run need not use it."""

    name: str
    reason: str
    applies: Callable[[Difference], bool]
    rare: str = ""


def _log_dirs(found: Difference) -> bool:
    return found.ask.name == "DescribeLogDirs" and found.path[:1] == ("results",)


def _revision(found: Difference) -> bool:
    return found.ask.name == "DescribeConfigs" and found.path == ("revision",) and found.kafka == -1


def _own_apis(found: Difference) -> bool:
    """APIs that only one server has, kconf's older versions, ApiVersions of 4.4, and features of the data plane."""
    if found.ask.name != "ApiVersions":
        return False
    if found.path[:1] == ("api_keys",):
        older = found.place("min_version") and found.kconf < found.kafka
        newer = found.path[1:] == (str(API_VERSIONS), "max_version") and (found.kafka, found.kconf) == (4, 5)
        alone = len(found.path) == 2 and MISSING in (found.kafka, found.kconf)
        return older or newer or (alone and int(found.path[1]) not in _COMPARED)
    if found.path == ("finalized_features_epoch",):
        return True
    return found.path[:1] in (("supported_features",), ("finalized_features",)) and found.path[1:2] != (_ELR,)


def _own_loggers(found: Difference) -> bool:
    if found.ask.name != "DescribeConfigs" or len(found.path) != 4 or MISSING not in (found.kafka, found.kconf):
        return False
    return at(found.kafka_answer, *found.path[:2], "resource_type") == BROKER_LOGGER and found.path[3] != "root"


def _empty_name(found: Difference) -> bool:
    return (
        found.ask.name == "DescribeTopicPartitions"
        and any(each.name == "" for each in found.ask.message.topics)
        and {each["error_code"] for each in at(found.kafka_answer, "topics")} == {-1}
        and {each["error_code"] for each in at(found.kconf_answer, "topics")} <= {0, 3, 17}
    )


def _growth_beyond(found: Difference) -> bool:
    return (
        found.ask.name == "CreatePartitions"
        and sum(each.count for each in found.ask.message.topics) > MOST_PARTITIONS
        and at(found.kafka_answer, *found.path[:2], "error_code") == -1
        and at(found.kconf_answer, *found.path[:2], "error_code") in (0, 44)
    )


def _repeated(found: Difference) -> bool:
    return is_silent_about_repeated(found, frozenset())


def is_silent_about_repeated(found: Difference, unknown: frozenset[int]) -> bool:
    """Kafka sends no results for repeated resources, kconf 42. For Kafka, unknown types are all the same type."""

    def resource(kind: int, name: str) -> tuple[int, str]:
        return 0 if kind in unknown else kind, name

    is_ended = found.kafka in (Ending.SILENT.value, Ending.CLOSED.value) and isinstance(found.kconf, dict)
    if found.ask.name != "AlterConfigs" or not is_ended:
        return False
    times = Counter(resource(each.resource_type, each.resource_name) for each in found.ask.message.resources)
    codes = {
        each["error_code"]
        for each in found.kconf["responses"]
        if times[resource(each["resource_type"], each["resource_name"])] > 1
    }
    return codes == {42}


class _Altered(NamedTuple):
    """One resource of an alteration, and its error codes."""

    configs: Sequence[Any]
    kafka: int
    kconf: int


def _altered(found: Difference) -> _Altered | None:
    if found.ask.name not in ("AlterConfigs", "IncrementalAlterConfigs") or found.path[:1] != ("responses",):
        return None
    codes = (at(each, *found.path[:2], "error_code") for each in (found.kafka_answer, found.kconf_answer))
    return _Altered(found.ask.message.resources[found.path[1]].configs, *codes)


def _unknown_operation(found: Difference) -> bool:
    about = _altered(found)
    if found.ask.name != "IncrementalAlterConfigs" or about is None or about.kafka != -1 or about.kconf == -1:
        return False
    return any(
        op.config_operation not in range(4) for requested in found.ask.message.resources for op in requested.configs
    )


def _broken_providers(found: Difference) -> bool:
    about = _altered(found)
    return (
        about is not None
        and (about.kafka, about.kconf) == (0, 42)
        and any(each.name == "config.providers" and "" in _items(each.value) for each in about.configs)
    )


def _foreign_class(found: Difference) -> bool:
    about = _altered(found)
    return (
        about is not None
        and (about.kafka, about.kconf) == (0, 42)
        and any(each.name.endswith(".class") and each.value == "java.lang.String" for each in about.configs)
    )


def _masked(found: Difference) -> bool:
    about = _altered(found)
    return (
        about is not None
        and (about.kafka, about.kconf) == (0, 42)
        and any(each.name.startswith("listener.name.") for each in about.configs)
    )


def _other_spelling(found: Difference) -> bool:
    if found.ask.name != "DescribeConfigs" or found.path[:1] != ("results",) or found.path[2:3] != ("configs",):
        return False
    about = at(found.kconf_answer, *found.path[:2])
    theirs, ours = (at(each, *found.path[:4], "config_source") for each in (found.kafka_answer, found.kconf_answer))
    return (
        about["resource_type"] == BROKER
        and about["resource_name"] in ("01", "+1")
        and theirs not in (MISSING, OWN_LEVEL)
        and ours == OWN_LEVEL
    )


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",")]


def _described_twice(found: Difference) -> bool:
    """The shorter response is the longer one without repeated entries."""
    if found.ask.name != "DescribeConfigs" or found.path[:1] != ("results",):
        return False
    once = {(each["resource_type"], each["resource_name"]): each for each in found.kafka_answer["results"]}
    with_flag = found.ask.version > 0  # Kafka 3.9 does not set it in version 0
    return len(once) < len(found.kafka_answer["results"]) and [
        _described(each, with_flag) for each in once.values()
    ] == [_described(each, with_flag) for each in found.kconf_answer["results"]]


def _described(result: Any, with_flag: bool) -> Any:
    """A result with or without the flags of defaults."""
    entries = dict(result["configs"])
    shown = {
        name: {field: value for field, value in entry.items() if with_flag or field != "is_default"}
        for name, entry in entries.items()
        if isinstance(entry, dict)
    }
    return {**result, "configs": shown, "order": entries.get("(order)")}


ACCEPTED: tuple[Accepted, ...] = (
    Accepted(
        "no log directories",
        "Kafka describes its log directories. kconf has none, and returns a directory without a name and with error "
        "57, because Java's client reports CLUSTER_AUTHORIZATION_FAILED for an empty list.",
        _log_dirs,
    ),
    Accepted(
        "a resource is described once",
        "If a request names a resource several times, Kafka describes it several times, and Java's client and "
        "librdkafka then reject the whole response. kconf describes it once.",
        _described_twice,
    ),
    Accepted(
        "the revision of a response",
        "kconf returns the revision of its state in its own tagged field (40003). Kafka has no such field, and "
        "clients ignore unknown tags.",
        _revision,
    ),
    Accepted(
        "supported APIs",
        "Each server advertises its own APIs: kconf has no messages and none of the features for them, has only one "
        "metadata.version, supports older versions too, and has a few APIs of its own. For APIs that both support, "
        "the newest version is the same, except for ApiVersions (kconf has version 5 of Kafka 4.4), and so is the "
        "feature of eligible leader replicas.",
        _own_apis,
    ),
    Accepted(
        "different loggers",
        "The root logger is compared. The other loggers are those of Kafka's classes and of kconf's modules.",
        _own_loggers,
    ),
    Accepted(
        "an empty topic name in DescribeTopicPartitions",
        "Kafka fails the whole request with -1. kconf returns 17 (invalid topic) for that name, and describes the "
        "others.",
        _empty_name,
    ),
    Accepted(
        "adding more than 10,000 partitions",
        "Kafka fails halfway with -1, for this topic and for the following ones. kconf refuses this topic with 44, as"
        " both do for CreateTopics, and extends the others.",
        _growth_beyond,
    ),
    Accepted(
        "config.providers with an empty item",
        "Kafka stores it, fails to apply it, and then silently applies no dynamic config of that broker until it is "
        "removed. kconf refuses it with 42, as both do for every other broker list.",
        _broken_providers,
    ),
    Accepted(
        "an invalid value for one of two listeners",
        "If a key is set for two listeners, or for one and for all, Kafka checks the type of only one value, "
        "depending on hash order, and may store an invalid one. kconf checks each.",
        _masked,
    ),
    Accepted(
        "a class that is not part of Kafka",
        "Kafka accepts any class that its JVM can load. kconf has no JVM, accepts Kafka's own classes, and refuses "
        "others with 42.",
        _foreign_class,
    ),
    Accepted(
        "another spelling of a broker ID",
        "Kafka accepts a change of broker 01 and stores it under that name, which broker 1 never reads, so the change"
        " has no effect. For kconf 01 is broker 1, as it is in DescribeConfigs on kconf and on Kafka.",
        _other_spelling,
    ),
    Accepted(
        "AlterConfigs with a repeated resource",
        "Kafka does not respond at all, or closes the connection. kconf returns 42 for each occurrence, as kconf and "
        "Kafka do for IncrementalAlterConfigs.",
        _repeated,
    ),
    Accepted(
        "an operation that does not exist",
        "Kafka fails the whole request with -1 and delays the next client for up to 30 seconds. kconf returns 42 for "
        "that resource, and processes the others.",
        _unknown_operation,
    ),
)


def _other_release(found: Difference) -> bool:
    if "configs" not in found.path:
        return _unknown_to_39(found)
    name = found.path[found.path.index("configs") + 1]
    if name == "(order)":
        return _order(found.kafka_answer, found) == _order(found.kconf_answer, found)
    return name in _CHANGED


def _unknown_to_39(found: Difference) -> bool:
    """A topic with a key that only 4.x has is refused for that (40), whatever else is wrong with it."""
    if found.ask.name != "CreateTopics" or at(found.kafka_answer, *found.path[:2], "error_code") != INVALID_CONFIG:
        return False
    requests = [each for each in found.ask.message.topics if each.name == found.path[1]]
    return any(each.name == _NEW for requested in requests for each in requested.configs)


def _order(answer: Any, found: Difference) -> list[str]:
    """The order of a topic's keys, without keys that one release lacks."""
    for step in found.path[: found.path.index("(order)") + 1]:
        answer = answer[step]
    return [name for name in answer if name not in _CHANGED]


def _never_default(found: Difference) -> bool:
    return found.ask.name == "DescribeConfigs" and found.ask.version == 0 and found.place("is_default") and found.kconf


def _newer_versions(found: Difference) -> bool:
    if found.path == ("supported_features", _ELR):
        return found.kafka is MISSING
    return found.ask.name == "ApiVersions" and found.place("max_version") and found.kconf > found.kafka


# Topic keys that one of them lacks, and the one with another default.
_NEW = "internal.segment.bytes"
_CHANGED = {*TOPIC_REMOVED, _NEW, "message.timestamp.after.max.ms"}

ACCEPTED_39: tuple[Accepted, ...] = (
    *(line for line in ACCEPTED if line.applies in (_own_apis, _revision)),
    Accepted(
        "keys of another release",
        "3.9.2 has three topic keys that 4.x removed, lacks internal.segment.bytes, and has a different default for "
        "message.timestamp.after.max.ms. kconf has the keys of 4.3.1.",
        _other_release,
    ),
    Accepted(
        "is_default in version 0",
        "Since 2.7 Kafka never sets the flag. kconf sets it if the value is the default, as Kafka did when this "
        "version was current, because clients derive the source from it.",
        _never_default,
    ),
    Accepted(
        "newer versions",
        "3.9.2 supports Metadata up to 12, DescribeCluster 1, UpdateFeatures 1, ListConfigResources 0, and no "
        "eligible leader replicas; kconf supports the versions of 4.3.1.",
        _newer_versions,
    ),
)
"""What may differ from 3.9.2, which is asked only what 4.3.1 does not serve."""
