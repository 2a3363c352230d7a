"""The addresses of pages. Names of resources are hostile text: everything is percent-encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

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
    """The page of a resource. A name that a browser would change in a path is in the query."""
    word = _WORDS.get(resource.type)
    if word is None:
        return context_path(context)
    name = resource.name or (DEFAULT_BROKER if resource.type is ResourceType.BROKER else "")
    pairs = {key: value for key, value in query.items() if value is not None}
    if _IN_PATH.fullmatch(name) and name not in (".", ".."):
        path = f"{context_path(context)}/{word}/{quote(name, safe='')}"
    else:
        path, pairs = f"{context_path(context)}/{word}", {"name": name, **pairs}
    return f"{path}?{urlencode(pairs)}" if pairs else path


def resource_name(resource: Resource) -> str:
    """As forms and addresses have it: `topic:orders`, `broker:default`."""
    return f"{_WORDS.get(resource.type, resource.type.word)}:{resource.name or DEFAULT_BROKER}"


def change_path(context: str, resources: Sequence[Resource] = ()) -> str:
    """The form that changes the keys of these resources."""
    path = f"{context_path(context)}/change"
    return f"{path}?{urlencode([('resource', resource_name(each)) for each in resources])}" if resources else path


def resource_of(word: str, name: str) -> Resource:
    """The resource that an address names."""
    kind = KINDS[word]
    return Resource(kind, "" if kind is ResourceType.BROKER and name == DEFAULT_BROKER else name)


def docs_link(kind: ResourceType, key: str) -> str | None:
    """Kafka's own documentation of a key; None where it has none for the kind."""
    anchor = _ANCHORS.get(kind)
    return None if anchor is None else f"{KAFKA_DOCS}#{anchor}_{quote(key)}"
