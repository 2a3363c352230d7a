"""Parses declarations from YAML. docs/how-to/declare.md shows the syntax by example.

Values are parsed by the type of their key: `yes`, `1_000` and `on` stay as written, `7d` and `1GiB` are converted to
the key's unit. Values of unknown keys are taken literally: clusters may have keys that kconf does not know. Parsing
continues after an error, so that all errors are reported, each with file, line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kconf.configdef.dynamic import base_name
from kconf.configdef.java.parsing import InvalidValue, render
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.units import NUMBERS, read_amount
from kconf.configdef.validate import invalid_in_file_message
from kconf.engine.declarative.access import AccessReader
from kconf.engine.declarative.model import Declared, DesiredConfigs, DesiredTopic, Scope
from kconf.engine.declarative.reader import Gathered
from kconf.engine.policy.selectors import Names
from kconf.model.resource import Resource, ResourceType
from kconf.util.yaml.reader import InvalidNode, ParseError, ParseErrors, YamlNode

TOPIC_FIELDS: Final = ("partitions", "replication", "configs", "unmanaged")
SECRET_FIELDS: Final = ("valueFrom", "sensitive")

KeysOf = Callable[[ResourceType], ConfigDef]
"""The keys of a resource type, which define units and secrets."""


def read_declared(files: Iterable[tuple[str, str]], keys: KeysOf) -> Declared:
    """The declaration in some files, given as pairs of name and text. Raises `ParseErrors`."""
    gathered = Gathered()
    errors: dict[str, list[ParseError]] = {}
    for name, text in files:
        reader = _DeclarationReader(name, gathered, keys)
        reader.read(text)
        if reader.errors:
            errors[name] = reader.errors
    if errors:
        raise ParseErrors(errors)
    return Declared(
        gathered.topics,
        gathered.configs,
        gathered.quotas,
        gathered.users,
        gathered.acls,
        tuple(dict.fromkeys(gathered.selectors)),
        tuple(dict.fromkeys(gathered.ignored)),
        gathered.unmanaged,
    )


class _DeclarationReader(AccessReader):
    def __init__(self, file: str, gathered: Gathered, keys: KeysOf) -> None:
        super().__init__(file, gathered)
        self._keys_of = keys
        self._selector: tuple[Scope, ...] | None = None
        self._keys: dict[ResourceType, ConfigDef] = {}
        self._raw: dict[tuple[ResourceType, str, str], str] = {}

    def read(self, text: str) -> None:
        root = self.compose(text)
        if root is None:
            return  # a file of comments declares nothing
        sections: dict[str, Callable[[YamlNode], None]] = {
            "version": self.version,
            "selector": self.selector,
            "ignore": lambda node: self.gathered.ignored.extend(self.scopes(node, "ignore", keys=True)),
            "unmanaged": self.unmanaged,
            "topics": self.topics,
            "brokers": self.brokers,
            "groups": partial(self.named, ResourceType.GROUP),
            "client-metrics": partial(self.named, ResourceType.CLIENT_METRICS),
            "quotas": self.quotas,
            "users": self.users,
            "acls": self.acls,
        }
        fields = self.attempt(partial(self.fields, root, tuple(sections), "a declaration")) or {}
        for name, node in fields.items():
            self.attempt(partial(sections[name], node))
        if "selector" in fields and "topics" in fields:
            self.check_inside(fields["selector"], fields["topics"])

    def selector(self, node: YamlNode) -> None:
        self._selector = self.scopes(node, "selector")
        self.gathered.selectors.extend(self._selector)

    def check_inside(self, selector: YamlNode, topics: YamlNode) -> None:
        """A file with a selector must not declare topics outside it."""
        if self._selector is None or topics.id != "mapping":
            return  # reported already
        for name, key, _ in self.names(topics, "topics"):
            if not any(each.covers(Resource.topic(name), (name,)) for each in self._selector):
                place = self.place(selector)
                self.report(
                    key,
                    (
                        f"the topic {name!r} does not match the selector of this file, {place}; declare it in another "
                        "file"
                    ),
                )

    def unmanaged(self, node: YamlNode) -> None:
        """Keys that are ignored on any resource: the same as `ignore: [key:…]`."""
        patterns = self.key_patterns(node, "unmanaged")
        self.gathered.ignored.extend(Scope("key", Names((each,))) for each in patterns)

    def topics(self, node: YamlNode) -> None:
        for name, key, value in self.names(node, "topics"):
            resource = Resource(ResourceType.TOPIC, name)
            self.once(resource, key, f"the topic {name!r}")
            self.gathered.topics[name] = DesiredTopic(self.place(key))
            if not value.is_null:
                self.attempt(partial(self.topic, resource, key, value))

    def topic(self, resource: Resource, key: YamlNode, node: YamlNode) -> None:
        fields = self.fields(node, TOPIC_FIELDS, "a topic")
        partitions = self.count(fields.get("partitions"), "partitions")
        replication = self.count(fields.get("replication"), "replication")
        self.gathered.topics[resource.name] = DesiredTopic(self.place(key), partitions, replication)
        if "configs" in fields:
            self.configs(resource, fields["configs"])
        patterns = self.key_patterns(fields["unmanaged"], "unmanaged") if "unmanaged" in fields else ()
        if patterns:
            self.gathered.unmanaged[resource] = Names(patterns)

    def brokers(self, node: YamlNode) -> None:
        for name, key, value in self.names(node, "brokers"):
            if name != "default" and not (name.isascii() and name.isdigit() and len(name) < 11):
                self.report(key, f"a broker must be its ID or `default`: {name!r}")
                continue
            resource = Resource(ResourceType.BROKER, "" if name == "default" else str(int(name)))
            if value.value and not value.is_null:  # an export has brokers without overrides, which another file may set
                self.once(resource, key, str(resource))
            self.attempt(partial(self.configs, resource, value))

    def named(self, kind: ResourceType, node: YamlNode) -> None:
        """Groups and client metrics: configs by name."""
        for name, key, value in self.names(node, f"{kind.word}s"):
            resource = Resource(kind, name)
            self.once(resource, key, str(resource))
            self.attempt(partial(self.configs, resource, value))

    def configs(self, resource: Resource, node: YamlNode) -> None:
        into = self.gathered.configs.setdefault(resource, {})
        for key, value in [] if node.is_null else self.pairs(node, "configs"):
            name = key.value
            if name in into:
                self.report(key, f"{name} occurs twice")
                continue
            try:
                into[name] = self.wanted(resource.type, name, value)
            except InvalidNode:
                continue

    def wanted(self, kind: ResourceType, name: str, node: YamlNode) -> DesiredConfigs:
        if node.id == "mapping":
            return self.hidden(name, node)
        key = self.find_key(kind, name)
        if key is not None and key.sensitive:
            raise self.invalid(node, f"{name} is a secret: use `valueFrom: {{env: …}}` or `valueFrom: {{file: …}}`")
        if node.id == "sequence":
            text = ",".join([self.text(each, f"an item of {name}") for each in node.value])
        elif node.is_null:
            raise self.invalid(node, f"{name} must have a value; to leave it unset, remove the line")
        else:
            text = str(node.value)
        return DesiredConfigs(self.raw(kind, name, key, text, node), self.place(node))

    def raw(self, kind: ResourceType, name: str, key: ConfigKey | None, text: str, node: YamlNode) -> str:
        """The value in protocol format. Cached, because files repeat a few values."""
        known = self._raw.get((kind, name, text))
        if known is None:
            known = text
            if key is not None and key.type in NUMBERS and not text.lstrip("-").isdigit():
                try:
                    known = render(key.type, read_amount(key, text))
                except InvalidValue as error:
                    raise self.invalid(node, invalid_in_file_message(text, name, error)) from None
            self._raw[kind, name, text] = known
        return known

    def find_key(self, kind: ResourceType, name: str) -> ConfigKey | None:
        keys = self._keys.get(kind)
        if keys is None:
            keys = self._keys[kind] = self._keys_of(kind)
        found = keys.get(name)
        return found if found is not None or kind is not ResourceType.BROKER else keys.get(base_name(name))

    def hidden(self, name: str, node: YamlNode) -> DesiredConfigs:
        """`{valueFrom: {env: X}}`, or `{sensitive: true}`, which an export writes for a secret."""
        fields = self.fields(node, SECRET_FIELDS, f"the value of {name}")
        if "valueFrom" in fields:
            return DesiredConfigs(None, self.place(node), self.source(fields["valueFrom"], "valueFrom"))
        if "sensitive" in fields and self.flag(fields["sensitive"], "sensitive"):
            return DesiredConfigs(None, self.place(node))
        raise self.invalid(node, f"{name} needs a value, or `valueFrom: {{env: …}}` where it is a secret")
