"""The addresses of pages. Resource names are untrusted input: everything is percent-encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType

KINDS: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "user": ResourceType.SCRAM,
    "client-metrics": ResourceType.CLIENT_METRICS,
}
"""The kinds of resources that have a page, as in `/CONTEXT/topic/NAME`."""
_WORDS: Final = {kind: word for word, kind in KINDS.items()}
_IN_PATH: Final = re.compile(r"[\w.\-~:@!$&'()*+,;= ]+")
DEFAULT_BROKER: Final = "default"
KAFKA_DOCS: Final = "https://kafka.apache.org/documentation/"
_ANCHORS: Final = {
    ResourceType.TOPIC: "topicconfigs",
    ResourceType.BROKER: "brokerconfigs",
    ResourceType.GROUP: "groupconfigs",
}


def context_path(context: str) -> str:
    return f"/{quote(context, safe='')}"


def resource_path(context: str, resource: Resource, **query: object) -> str:
    """The page of a resource. Names that a browser would change in a path are put into the query."""
    word = _WORDS.get(resource.type)
    if resource.type is ResourceType.QUOTA:
        return quotas_path(context, QuotaEntity.from_resource(resource))
    if word is None:
        return context_path(context)
    name = resource.name or (DEFAULT_BROKER if resource.type is ResourceType.BROKER else "")
    pairs = {key: value for key, value in query.items() if value is not None}
    if _IN_PATH.fullmatch(name) and name not in (".", ".."):
        path = f"{context_path(context)}/{word}/{quote(name, safe='')}"
    else:
        path, pairs = f"{context_path(context)}/{word}", {"name": name, **pairs}
    return f"{path}?{urlencode(pairs)}" if pairs else path


def page_path(context: str, resource: Resource) -> str | None:
    """The page about a resource; None if it has none, such as an ACL or a default quota."""
    if resource.type is ResourceType.QUOTA:
        entity = QuotaEntity.from_resource(resource)
        return quotas_path(context, entity) if any(name for _, name in entity.parts) else None
    return resource_path(context, resource) if resource.type in _WORDS else None


def resource_name(resource: Resource) -> str:
    """The name of a resource in forms and addresses: `topic:orders`, `broker:default`."""
    return f"{_WORDS.get(resource.type, resource.type.word)}:{resource.name or DEFAULT_BROKER}"


def change_path(context: str, resources: Sequence[Resource] = ()) -> str:
    """The form that changes the keys of these resources."""
    path = f"{context_path(context)}/change"
    return f"{path}?{urlencode([('resource', resource_name(each)) for each in resources])}" if resources else path


def promote_path(context: str, resource: Resource, key: str, value: str | None) -> str:
    """The form of a change with one key filled in; None removes the value."""
    pair = ("unset", key) if value is None else ("set", f"{key}={value}")
    return f"{context_path(context)}/change?{urlencode([('resource', resource_name(resource)), pair])}"


def resource_of(word: str, name: str) -> Resource:
    """The resource in an address."""
    kind = KINDS[word]
    return Resource(kind, "" if kind is ResourceType.BROKER and name == DEFAULT_BROKER else name)


def quotas_path(context: str, entity: QuotaEntity | None = None) -> str:
    """The page that explains the quotas of a client; defaults have no parameter in its address."""
    named = {} if entity is None else {kind: name for kind, name in entity.parts if name is not None}
    path = f"{context_path(context)}/quotas"
    return f"{path}?{urlencode(named)}" if named else path


def docs_link(kind: ResourceType, key: str) -> str | None:
    """Kafka's own documentation of a key; None if there is none for this resource type."""
    anchor = _ANCHORS.get(kind)
    return None if anchor is None else f"{KAFKA_DOCS}#{anchor}_{quote(key)}"
