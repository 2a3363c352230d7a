"""The precedence of configs, in one place.

topic override → this broker → all brokers → server.properties → default, with the units of synonyms converted.
`ConfigResolver` has the broker levels at one moment and builds Views from them; the service creates a new one when a
broker level changes, so everything cached here is valid for the lifetime of the resolver.

If only a weaker synonym is set, the result follows Kafka: the value is correct, the source is DEFAULT
(docs/protocol.md, "Sources").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kconf.configdef.catalog import Catalog
from kconf.configdef.dynamic import base_name, broker_synonyms
from kconf.configdef.java.parsing import InvalidValue, parse
from kconf.configdef.key import ConfigKey
from kconf.configdef.validate import normalize
from kconf.model.entry import Entry, Source, Synonym, ValueType, View
from kconf.model.resource import Overrides, ResourceType

_MAX_VIEWS = 8192


@dataclass(frozen=True)
class ConfigResolver:
    """The broker levels of one moment, from the strongest to the weakest."""

    catalog: Catalog = field(repr=False)
    static: Overrides = field(repr=False)  # the levels contain secrets
    everywhere: Overrides = field(repr=False)  # the cluster default
    here: Overrides = field(repr=False)  # this broker's own
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)  # caches of other modules
    _views: dict[object, View] = field(default_factory=dict, repr=False)
    _chains: dict[str, tuple[Synonym, ...]] = field(default_factory=dict, repr=False)

    def with_level(self, overrides: Overrides, *, everywhere: bool) -> ConfigResolver:
        """A resolver with these overrides of all brokers, or of this one."""
        if everywhere:
            return ConfigResolver(self.catalog, self.static, overrides, self.here)
        return ConfigResolver(self.catalog, self.static, self.everywhere, overrides)

    @cached_property
    def effective(self) -> dict[str, str]:
        """Every property that is set, from the strongest level; a dynamic one hides its synonyms on weaker levels."""
        merged = dict(self.static)
        for level in (self.everywhere, self.here):
            for name, value in level.items():
                if base_name(name) == name:
                    for alias in broker_synonyms(name):
                        merged.pop(alias, None)
                merged[name] = value
        return merged

    def value(self, name: str) -> str | None:
        """The effective value of a broker key on this node, as DescribeConfigs returns it."""
        key = self.catalog.broker[name]
        raw = self.effective.get(name)
        return key.default if raw is None else normalize(key, raw)

    def number(self, name: str) -> int:
        """A whole-number broker key that has a default; a bad static value falls back to it."""
        key = self.catalog.broker[name]
        for text in (self.effective.get(name), key.default):
            if text is not None:
                try:
                    return int(parse(key.type, text))  # type: ignore[arg-type]  # an INT or LONG key
                except InvalidValue:
                    continue
        raise KeyError(name)

    def flag(self, name: str) -> bool:
        return self.value(name) == "true"

    def chain(self, name: str) -> tuple[Synonym, ...]:
        """All levels at which a broker key or one of its synonyms is set, up to the first with its own name."""
        known = self._chains.get(name)
        if known is None:
            known = self._chains[name] = self._chain(name)
        return known

    def _chain(self, name: str) -> tuple[Synonym, ...]:
        names = broker_synonyms(name)
        found = []
        for source, level in self._levels():
            for each in names:
                value = level.get(each)
                if value is not None:
                    found.append(Synonym(each, None if self.sensitive(each) else value, source))
        while found and found[0].name != name:
            del found[0]
        return tuple(found)

    def _levels(self) -> Iterable[tuple[Source, Mapping[str, str]]]:
        yield Source.BROKER, self.here
        yield Source.DEFAULT_BROKER, self.everywhere
        yield Source.STATIC, self.static
        yield Source.DEFAULT, self.catalog.broker_defaults

    def _key(self, name: str) -> ConfigKey | None:
        """The definition of a broker property, with or without a listener prefix."""
        return self.catalog.broker.get(name) or self.catalog.broker.get(base_name(name))

    def _about(self, name: str) -> str | None:
        """A key's documentation; as in Kafka, a name with a listener prefix has none."""
        key = self.catalog.broker.get(name)
        return key.about if key is not None and not key.dynamic_only else None

    def sensitive(self, name: str) -> bool:
        """Whether a broker key is sensitive. Unknown keys are, for all resources."""
        key = self._key(name)
        return key is None or key.sensitive

    def sensitive_keys(self, kind: ResourceType) -> Callable[[str], bool]:
        """A function that returns whether a key of this resource type is sensitive."""
        if kind == ResourceType.BROKER:
            return self.sensitive
        keys = self.catalog.of(kind)
        return lambda name: name not in keys or keys[name].sensitive

    # -- topics ------------------------------------------------------------------------------------------------------

    @cached_property
    def inherited(self) -> dict[str, Entry]:
        """The value of each topic key for a topic without overrides, by name, in order."""
        return {name: self._inherit(key) for name, key in sorted(self.catalog.topic.items()) if not key.internal}

    def _inherit(self, key: ConfigKey) -> Entry:
        chain = self.chain(key.fallbacks[0].name) if key.fallbacks else ()
        source = chain[0].source if chain else Source.DEFAULT
        return Entry(key.name, self.inherited_value(key), source, key.type, synonyms=chain, documentation=key.about)

    def inherited_value(self, key: ConfigKey) -> str | None:
        """A topic key's value from the broker levels: the first fallback that is set, in the topic's unit."""
        for fallback in key.fallbacks:
            raw = self.effective.get(fallback.name)
            if raw is None:
                continue
            if fallback.factor == 1:
                value = normalize(key, raw)
            else:
                try:
                    value = str(int(raw.strip()) * fallback.factor)
                except ValueError:
                    continue
            return "-1" if key.name == "retention.ms" and value.startswith("-") else value
        return key.default

    def topic(self, overrides: Overrides) -> View:
        """The View of a topic. Topics with the same overrides share it."""
        return self._shared(frozenset(overrides.items()) if overrides else None, self._topic, overrides)

    def _shared(self, identity: object, make: Callable[[Overrides], View], overrides: Overrides) -> View:
        """A bounded cache with one View per set of overrides; topics may have any number of such sets."""
        view = self._views.get(identity)
        if view is None:
            if len(self._views) >= _MAX_VIEWS:
                self._views.clear()
            view = self._views[identity] = make(overrides)
        return view

    def _topic(self, overrides: Overrides) -> View:
        if not overrides:
            return View(tuple(self.inherited.values()))
        entries = dict(self.inherited)
        for name, raw in overrides.items():
            entries[name] = self._override(self.catalog.topic.get(name), name, raw)
        if len(entries) == len(self.inherited):
            return View(tuple(entries.values()))
        return View(tuple(entries[name] for name in sorted(entries)))

    def _override(self, key: ConfigKey | None, name: str, raw: str) -> Entry:
        if key is None:
            return Entry(name, None, Source.TOPIC, sensitive=True, synonyms=(Synonym(name, None, Source.TOPIC),))
        value = raw if key.internal else normalize(key, raw)  # as in Kafka, internal keys are shown as they were set
        below = self.chain(key.fallbacks[0].name) if key.fallbacks else ()
        synonyms = (Synonym(name, value, Source.TOPIC), *below)
        return Entry(name, value, Source.TOPIC, key.type, synonyms=synonyms, documentation=key.about)

    @cached_property
    def created(self) -> dict[str, tuple[str | None, Source]]:
        """KIP-525: the configs that CreateTopics returns for a topic without overrides, by name, in order, with true
        sources."""
        return {key.name: self._created(key) for _, key in sorted(self.catalog.topic.items()) if not key.internal}

    def _created(self, key: ConfigKey) -> tuple[str | None, Source]:
        for source, level in self._levels():
            for fallback in key.fallbacks:
                raw = level.get(fallback.name)
                if raw is None or (source is Source.DEFAULT and fallback.factor != 1):
                    continue
                return raw if fallback.factor == 1 else _scaled(raw, fallback.factor), source
        return key.default, Source.DEFAULT

    # -- brokers -----------------------------------------------------------------------------------------------------

    def broker(self) -> View:
        """The View of this broker: every defined key, and every property that is set."""
        view = self._views.get("broker")
        if view is None:
            shown = {name for name, key in self.catalog.broker.items() if not key.internal and not key.dynamic_only}
            view = View(
                tuple(self._broker_entry(name) for name in sorted(shown | self.effective.keys() | self.static.keys()))
            )
            self._views["broker"] = view
        return view

    def _broker_entry(self, name: str) -> Entry:
        key = self.catalog.broker.get(name)
        known = self._key(name)
        sensitive = known is None or known.sensitive
        raw = self.effective.get(name)
        if sensitive:
            value = None
        elif key is None or key.internal or key.dynamic_only:
            value = raw  # as in Kafka, values without a definition are not parsed
        else:
            value = key.default if raw is None else normalize(key, raw)
        chain = self.chain(name)
        return Entry(
            name,
            value,
            chain[0].source if chain else Source.DEFAULT,
            known.type if known is not None else ValueType.UNKNOWN,
            read_only=name not in self.catalog.dynamic,
            sensitive=sensitive,
            synonyms=chain,
            documentation=self._about(name),
        )

    def brokers(self) -> View:
        """The cluster default: only what is set there, as it was set."""
        view = self._views.get("brokers")
        if view is None:
            view = self._views["brokers"] = View(tuple(self._default_entry(name) for name in sorted(self.everywhere)))
        return view

    def _default_entry(self, name: str) -> Entry:
        known = self._key(name)
        sensitive = known is None or known.sensitive
        return Entry(
            name,
            None if sensitive else self.everywhere[name],
            Source.DEFAULT_BROKER,
            known.type if known is not None else ValueType.UNKNOWN,
            read_only=name not in self.catalog.dynamic,
            sensitive=sensitive,
            synonyms=tuple(each for each in self.chain(name) if each.source is Source.DEFAULT_BROKER),
            documentation=self._about(name),
        )

    # -- groups and client metrics -----------------------------------------------------------------------------------

    def group(self, overrides: Overrides) -> View:
        return self._shared(("group", frozenset(overrides.items())), self._group, overrides)

    def _group(self, overrides: Overrides) -> View:
        return View(
            tuple(self._group_entry(key, overrides.get(name)) for name, key in sorted(self.catalog.group.items()))
        )

    def _group_entry(self, key: ConfigKey, raw: str | None) -> Entry:
        if key.fallbacks:
            below, inherited = self.chain(key.fallbacks[0].name), self.value(key.fallbacks[0].name)
        else:
            below, inherited = (Synonym(key.name, key.default, Source.DEFAULT),), key.default
        if raw is None:
            source = below[0].source if below else Source.DEFAULT
            return Entry(key.name, inherited, source, key.type, synonyms=below, documentation=key.about)
        value = normalize(key, raw)
        synonyms = (Synonym(key.name, value, Source.GROUP), *below)
        return Entry(key.name, value, Source.GROUP, key.type, synonyms=synonyms, documentation=key.about)

    def client_metrics(self, overrides: Overrides) -> View:
        return self._shared(("client-metrics", frozenset(overrides.items())), self._client_metrics, overrides)

    def _client_metrics(self, overrides: Overrides) -> View:
        if not self.catalog.client_metrics_defaults:  # with the empty documentation that these releases always send
            return View(
                tuple(Entry(*each, Source.CLIENT_METRICS, documentation="") for each in sorted(overrides.items()))
            )
        return View(
            tuple(_metrics_entry(key, overrides.get(name)) for name, key in sorted(self.catalog.client_metrics.items()))
        )


def _metrics_entry(key: ConfigKey, raw: str | None) -> Entry:
    if raw is None:
        return Entry(key.name, key.default, Source.DEFAULT, key.type, documentation=key.about)
    value = normalize(key, raw)
    synonyms = (Synonym(key.name, value, Source.CLIENT_METRICS),)
    return Entry(key.name, value, Source.CLIENT_METRICS, key.type, synonyms=synonyms, documentation=key.about)


def _scaled(raw: str, factor: int) -> str:
    """Kafka's own conversion for CreateTopics: unparsable hours give 0."""
    try:
        return str(int(raw.strip()) * factor)
    except ValueError:
        return "0"
