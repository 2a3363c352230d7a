"""Small scenarios: lists, loggers, ACLs without an authorizer, and versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kconf.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kconf.protocol.messages.describe_acls import DescribeAclsRequest
from kconf.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kconf.protocol.messages.list_groups import ListGroupsRequest
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import (
    APPEND,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    Draw,
    Op,
    topic,
)

_SOFTWARE = ("lab", "a", "1", "apache-kafka-java", "4.3.1", "a-", "-a", ".a", "a.", "a b", "", "ä", "a_b", "a" * 300)
_TYPES = (2, 4, 8, 16, 32)
_ODD_TYPES = (0, 1, 3, 5, 64, 127, -1)


def versions(draw: Draw) -> Iterator[Ask]:
    for _ in range(4):
        yield draw.ask("ApiVersions", ApiVersionsRequest(draw.one(_SOFTWARE), draw.one(_SOFTWARE)))


def lists(draw: Draw) -> Iterator[Ask]:
    """Resources with configs are listed until their last key is removed."""
    name, group, metrics = draw.name(), draw.name("g"), draw.name("m")
    yield draw.create(topic(name, 1, 1))
    requests = (
        (GROUP, group, [(SET, "share.isolation.level", "read_committed")]),
        (CLIENT_METRICS, metrics, [(SET, "metrics", "*")]),
    )
    yield draw.incremental(*requests)
    for _ in range(3):
        yield _list(draw)
    yield draw.incremental(
        (GROUP, group, [(DELETE, "share.isolation.level", None)]), (CLIENT_METRICS, metrics, [(DELETE, "metrics", "")])
    )
    yield _list(draw)
    yield draw.ask(
        "ListGroups",
        ListGroupsRequest(draw.some(("Stable", "Empty", "nonsense"), 1), draw.some(("classic", "Consumer", "x"), 1)),
    )
    yield draw.ask("ListGroups", ListGroupsRequest())
    yield draw.delete(name)


def _list(draw: Draw) -> Ask:
    types = draw.some(_TYPES, draw.random.randint(0, 3))
    if draw.chance(0.2):
        types.append(draw.one(_ODD_TYPES))
    if types and draw.chance(0.2):
        types.append(types[0])
    return draw.ask("ListConfigResources", ListConfigResourcesRequest(types))


def loggers(draw: Draw) -> Iterator[Ask]:
    """Only the root logger: the other loggers differ between the servers."""
    yield draw.incremental((BROKER_LOGGER, "1", [(SET, "root", draw.one(("WARN", "ERROR", "INFO")))]))
    for _ in range(4):
        ops = [_level(draw) for _ in range(draw.random.choice((0, 1, 1, 2)))]
        name = draw.one(("1", "1", "1", "1", "01", "", "2", "x"))
        if draw.chance(0.15):
            yield draw.replace((BROKER_LOGGER, name, [(key, value) for _, key, value in ops]))
        else:
            requests = [(BROKER_LOGGER, name, ops)] * draw.one((1, 1, 1, 1, 2))
            yield draw.incremental(*requests, validate_only=draw.chance(0.3))
        yield draw.describe((BROKER_LOGGER, draw.one(("1", "1", "+1", "", "2", "x"))), names=["root", "no.such.logger"])
    yield draw.describe((BROKER_LOGGER, "1"))
    yield draw.incremental((BROKER_LOGGER, "1", [(SET, "root", "INFO")]))


def _level(draw: Draw) -> Op:
    level = draw.one(("FATAL", "ERROR", "WARN", "INFO", "ERROR", "OFF", "ALL", "info", "", "nonsense", None))
    return (
        draw.one((SET, SET, SET, SET, DELETE, APPEND, SUBTRACT)),
        draw.one(("root", "root", "no.such.logger", "")),
        level,
    )


def acls(draw: Draw) -> Iterator[Ask]:
    for _ in range(2):
        yield draw.ask("DescribeAcls", DescribeAclsRequest(*_acl(draw)))
        yield draw.ask(
            "CreateAcls", CreateAclsRequest([AclCreation(*_acl(draw, "")) for _ in range(draw.random.randint(0, 3))])
        )
        yield draw.ask(
            "DeleteAcls", DeleteAclsRequest([DeleteAclsFilter(*_acl(draw)) for _ in range(draw.random.randint(0, 3))])
        )


def _acl(draw: Draw, nothing: str | None = None) -> tuple[Any, ...]:
    zero = (0,) if draw.chance(0.1) else ()
    return (
        draw.one((1, 2, 3, 4, 5, 6, *zero)),
        draw.one((nothing, "x", "kafka-cluster", "*")),
        draw.one((3, 4, 1, 2, *zero)),
        draw.one((nothing, "User:a", "a")),
        draw.one((nothing, "*", "127.0.0.1")),
        draw.one((1, 2, 3, 8, 14, 100, *zero)),
        draw.one((1, 2, 3, *zero)),
    )
