"""Conversion of resources to znode paths and back."""

from __future__ import annotations

import pytest

from kconf.engine.access.acls import ResourcePattern
from kconf.model.acl import AclType, PatternType
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.store.zookeeper import paths


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("alice", "alice"),
        ("CN=foo, O=bar/x", "CN%3Dfoo%2C%20O%3Dbar%2Fx"),
        ("<default>", "%3Cdefault%3E"),
        ("~*+", "%7E%2A%2B"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("", "<empty>"),
        ("a\x00b", "a%00b"),
    ],
)
def test_a_name_becomes_a_part_of_a_path_and_back(name: str, part: str) -> None:
    assert paths.sanitize(name) == part
    assert paths.desanitize(part) == name


def test_a_raw_plus_is_a_space() -> None:
    assert paths.desanitize("a+b") == "a b"


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        (Resource.brokers(), "/config/brokers/<default>"),
        (QuotaEntity.of({"user": None}).resource, "/config/users/<default>"),
        (QuotaEntity.of({"ip": "::1"}).resource, "/config/ips/::1"),
        (Resource(ResourceType.SCRAM, "<default>"), "/config/users/%3Cdefault%3E"),
        (Resource.group("a/b"), "/kconf/config/group/a%2Fb"),
        (Resource.client_metrics("all"), "/kconf/config/client-metrics/all"),
        (Resource.topic("é"), "/kconf/config/topic/%C3%A9"),
        (ResourcePattern(AclType.GROUP, PatternType.LITERAL, "a/b").resource, "/kconf/config/acl/3%3A3%3Aa%2Fb"),
    ],
)
def test_each_resource_has_its_znode(resource: Resource, path: str) -> None:
    assert paths.config_path(resource) == path
    assert resource in paths.resources_of(path)


@pytest.mark.parametrize("path", ["/config/users/%FF", "/config/clients/%C3"])
def test_a_name_that_is_not_utf8_is_reported(path: str) -> None:
    with pytest.raises(ValueError, match="utf-8"):
        paths.resources_of(path)
