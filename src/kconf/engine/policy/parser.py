"""Parses policy rules from YAML. docs/how-to/write-a-policy.md shows the language by example.

Values are parsed by the type of their key: `yes`, `1_000` and `on` stay as written. Parsing continues after an error,
so that all errors are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kconf.configdef.catalog import Catalog
from kconf.configdef.dynamic import base_name
from kconf.configdef.java.parsing import InvalidValue, Value, parse
from kconf.configdef.key import ConfigKey
from kconf.configdef.units import NUMBERS, read_amount, unit_of
from kconf.configdef.validate import invalid_in_file_message
from kconf.configdef.validators import collapse
from kconf.engine.policy.conditions import ABOUT_OVERRIDES, FACTS, RELATIONS, Condition, Operator, Rule, amount
from kconf.engine.policy.regex import compile_regex
from kconf.engine.policy.risk_rules import RiskRule
from kconf.engine.policy.rules import Rules
from kconf.engine.policy.selectors import Labelled, NamePattern, Names, RuleSelector, Severity
from kconf.engine.risks import RiskName
from kconf.model.entry import ValueType
from kconf.model.resource import ResourceType
from kconf.util.yaml.reader import InvalidNode, ParseError, YamlNode, YamlReader, suggestion

TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "brokers": ResourceType.BROKER,
    "group": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
}
TOP_FIELDS: Final = ("version", "labels", "rules")
RULE_FIELDS: Final = ("id", "selector", "key", "condition", "message", "severity", "always", "forbid", "allow")
RISK_WORDS: Final = ("forbid", "allow")
_NOT_WITH_RISKS: Final = ("key", "condition", "always")
_OF_TYPES: Final = {
    ResourceType.TOPIC: frozenset(RiskName) - {RiskName.QUOTA_BELOW_USAGE, RiskName.LOCKOUT},
    ResourceType.BROKER: frozenset(RiskName) - {RiskName.QUOTA_BELOW_USAGE},
}
"""The risks that a rule may name, by resource type. Policies do not know actual usage, so quotas have none."""
SELECTOR_FIELDS: Final = ("type", "name", "except", "labels")

_MANY: Final = frozenset([Operator.ONE_OF, Operator.NOT_ONE_OF, Operator.CONTAINS, Operator.EXCLUDES])
_TEXTS: Final = frozenset([ValueType.STRING, ValueType.CLASS])


def read_rules(text: str, catalog: Catalog, file: str = "policy.yaml") -> Rules:
    """The rules of a text, or `ParseErrors`."""
    reader = _RulesReader(file, catalog)
    rules = reader.read(text)
    reader.raise_errors()
    return rules


class _RulesReader(YamlReader):
    def __init__(self, file: str, catalog: Catalog) -> None:
        super().__init__(file)
        self.catalog = catalog
        self.known_labels: dict[str, set[str]] = {}

    def read(self, text: str) -> Rules:
        root = self.compose(text)
        if root is not None:
            return self.document(root)
        if not self.errors:
            self.errors.append(ParseError(1, 1, "the file is empty; use `rules: []` for a policy without rules"))
        return Rules()

    def document(self, root: YamlNode) -> Rules:
        try:
            fields = self.fields(root, TOP_FIELDS, "a policy")
            if "version" in fields and self.text(fields["version"], "version") != "1":
                self.report(fields["version"], "this version of kconf supports only version 1 of the policy language")
            labelled = self.labelled(fields["labels"]) if "labels" in fields else []
            node = self.required(root, fields, "rules", "a policy")
            if node.id != "sequence":
                raise self.invalid(node, "rules must be a list")
        except InvalidNode:
            return Rules()
        rules: list[Rule] = []
        risk_rules: list[RiskRule] = []
        ids: dict[str, YamlNode] = {}
        for each in node.value:
            try:
                if each.id == "mapping" and any(name.value in RISK_WORDS for name, _ in each.value):
                    risk_rules.append(self.risk_rule(each, ids))
                else:
                    rules.append(self.rule(each, ids))
            except InvalidNode:
                continue
        return Rules(tuple(rules), tuple(labelled), tuple(risk_rules))

    def risk_rule(self, node: YamlNode, ids: dict[str, YamlNode]) -> RiskRule:
        """A rule with `forbid` or `allow` in place of `key` and `condition`."""
        fields = self.fields(node, RULE_FIELDS, "a rule")
        name = self.attempt(lambda: self.rule_id(node, fields, ids))
        message = self.attempt(lambda: self.text(fields["message"], "message") if "message" in fields else "")
        severity = self.attempt(lambda: self.severity(fields.get("severity")))
        selectors = self.attempt(lambda: self.selectors(self.required(node, fields, "selector", "a rule")))
        words = [each for each in RISK_WORDS if each in fields]
        for each in (*_NOT_WITH_RISKS, *words[1:]):
            if each in fields:
                self.report(fields[each], f"a rule with {words[0]} cannot have {each}; split it into two rules")
        if "allow" in words and "severity" in fields:
            self.report(fields["severity"], "a rule with allow refuses nothing and cannot have a severity")
        kind = selectors[0].type if selectors else _type_of(fields.get("selector"))
        nodes = self.items(fields[words[0]], words[0])
        risks = self.read_each(nodes, lambda each: self.risk(each, kind))
        if selectors is None or name is None or message is None or severity is None:
            raise InvalidNode
        return RiskRule(name, selectors, frozenset(risks), words[0] == "allow", message.strip(), severity)

    def risk(self, node: YamlNode, kind: ResourceType | None) -> RiskName:
        text = self.text(node, "a risk")
        if text not in list(RiskName):
            close = suggestion(text, list(RiskName))
            raise self.invalid(node, f"unknown risk {text!r}{close or '; use one of ' + ', '.join(RiskName)}")
        if kind is not None and text not in _OF_TYPES.get(kind, ()):
            raise self.invalid(node, f"{text} is not a risk of a {kind.word}")
        return RiskName(text)

    def labelled(self, node: YamlNode) -> list[Labelled]:
        found = []
        for key, value in self.pairs(node, "labels"):
            try:
                selector = self.short_selector(key)
                pairs = [
                    (self.text(name, "a label"), self.text(given, "the value of a label"))
                    for name, given in self.pairs(value, "labels")
                ]
            except InvalidNode:
                continue
            for name, given in pairs:
                self.known_labels.setdefault(name, set()).add(given)
            found.append(Labelled(selector, tuple(pairs)))
        return found

    def rule(self, node: YamlNode, ids: dict[str, YamlNode]) -> Rule:
        fields = self.fields(node, RULE_FIELDS, "a rule")
        name = self.attempt(lambda: self.rule_id(node, fields, ids))
        message = self.attempt(lambda: self.text(fields["message"], "message") if "message" in fields else "")
        severity = self.attempt(lambda: self.severity(fields.get("severity")))
        always = self.attempt(lambda: self.flag(fields["always"], "always") if "always" in fields else False)
        selectors = self.attempt(lambda: self.selectors(self.required(node, fields, "selector", "a rule")))
        key_node = self.attempt(lambda: self.required(node, fields, "key", "a rule"))
        condition = self.attempt(lambda: self.required(node, fields, "condition", "a rule"))
        kind = selectors[0].type if selectors else _type_of(fields.get("selector"))
        if kind is None or key_node is None or condition is None:
            raise InvalidNode
        key = self.key(key_node, kind)
        conditions = self.conditions(condition, key, kind)
        others = {str(each.operands[0]): each.operands[0] for each in conditions if each.operator in RELATIONS}
        if selectors is None or name is None or message is None or severity is None or always is None:
            raise InvalidNode
        known = {other: self.find_key(other, kind) for other in others}
        return Rule(
            name,
            selectors,
            key,
            conditions,
            {other: found for other, found in known.items() if found is not None},
            message.strip(),
            severity,
            always,
        )

    def rule_id(self, node: YamlNode, fields: Mapping[str, YamlNode], ids: dict[str, YamlNode]) -> str:
        place = self.required(node, fields, "id", "a rule")
        name = self.text(place, "id")
        if ids.setdefault(name, place) is not place:
            raise self.invalid(place, f"rule {name!r} is already defined on line {ids[name].start_mark.line + 1}")
        return name

    def severity(self, node: YamlNode | None) -> Severity:
        if node is None:
            return Severity.ERROR
        text = self.text(node, "severity")
        if text not in list(Severity):
            raise self.invalid(node, f"severity must be error or warn: {text!r}{suggestion(text, list(Severity))}")
        return Severity(text)

    # -- selectors ---------------------------------------------------------------------------------------------------

    def selectors(self, node: YamlNode) -> tuple[RuleSelector, ...]:
        nodes = self.items(node, "selector")
        found = self.read_each(nodes, self.selector)
        for each, selector in zip(nodes, found, strict=True):
            if selector.type != found[0].type:
                raise self.invalid(each, "all selectors of a rule must be of the same resource type")
        return found

    def selector(self, node: YamlNode) -> RuleSelector:
        if node.id != "mapping":
            return self.short_selector(node)
        fields = self.fields(node, SELECTOR_FIELDS, "a selector")
        place = self.required(node, fields, "type", "a selector")
        word = self.text(place, "type")
        names = self.read_each(self.items(fields["name"], "name"), self.pattern) if "name" in fields else ()
        spared = self.read_each(self.items(fields["except"], "except"), self.pattern) if "except" in fields else ()
        labels = self.wanted_labels(fields["labels"]) if "labels" in fields else ()
        return self.made(place, word, names, spared, labels)

    def short_selector(self, node: YamlNode) -> RuleSelector:
        """`topic`, `topic:orders`, `topic:pay.*`, `topic:/^pay/`, `brokers`."""
        text = self.text(node, "a selector")
        word, colon, name = text.partition(":")
        if colon and not name:
            raise self.invalid(node, f"a selector must be TYPE or TYPE:NAME; the name is missing: {text!r}")
        return self.made(node, word, (self.checked_pattern(node, name),) if colon else (), (), ())

    def made(
        self,
        node: YamlNode,
        word: str,
        names: tuple[NamePattern, ...],
        spared: tuple[NamePattern, ...],
        labels: tuple[tuple[str, str], ...],
    ) -> RuleSelector:
        if word not in TYPES:
            raise self.invalid(
                node, f"unknown resource type {word!r}{suggestion(word, TYPES)}; use one of {', '.join(TYPES)}"
            )
        if word == "brokers" and names:
            raise self.invalid(
                node, "`brokers` is the cluster-wide default and has no name; use broker:NAME for a single broker"
            )
        default = True if word == "brokers" else False if word == "broker" and names else None
        return RuleSelector(TYPES[word], Names(names), spared, labels, default)

    def pattern(self, node: YamlNode) -> NamePattern:
        return self.checked_pattern(node, self.text(node, "a name"))

    def checked_pattern(self, node: YamlNode, text: str) -> NamePattern:
        pattern = NamePattern(text)
        if text.startswith("/") and not pattern.is_regex:
            raise self.invalid(node, f"a regular expression must end with a slash: {text!r}")
        try:
            pattern.compiled()
        except ValueError as error:
            raise self.invalid(node, f"the pattern {text} {error}") from None
        return pattern

    def wanted_labels(self, node: YamlNode) -> tuple[tuple[str, str], ...]:
        found = []
        for key, value in self.pairs(node, "labels"):
            name, given = self.text(key, "a label"), self.text(value, "the value of a label")
            if name not in self.known_labels:
                raise self.invalid(
                    key, f"no entry of labels defines the label {name!r}{suggestion(name, self.known_labels)}"
                )
            if given not in self.known_labels[name]:
                close = suggestion(given, self.known_labels[name])
                raise self.invalid(value, f"no entry of labels gives {name} the value {given!r}{close}")
            found.append((name, given))
        if not found:
            raise self.invalid(node, "labels must not be empty")
        return tuple(found)

    # -- keys and conditions -----------------------------------------------------------------------------------------

    def find_key(self, name: str, kind: ResourceType) -> ConfigKey | None:
        keys = self.catalog.of(kind)
        if kind is ResourceType.TOPIC and name in FACTS:
            return FACTS[name]
        found = keys.get(name)
        if found is None and kind is ResourceType.BROKER and base_name(name) in keys:
            found = replace(keys[base_name(name)], name=name)  # listener.name.<listener>.<key>
        return found

    def key(self, node: YamlNode, kind: ResourceType) -> ConfigKey:
        name = self.text(node, "key")
        found = self.find_key(name, kind)
        if found is not None:
            return found
        for other in (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS):
            if other is not kind and name in self.catalog.of(other):
                own = [each.name for each in self.catalog.of(kind).values() if _stands_for(each, name)]
                here = f"; use {own[0]}" if own else ""
                raise self.invalid(node, f"{name} is a {other.word} key, but the rule selects {kind.word}s{here}")
        known = [*self.catalog.of(kind), *(FACTS if kind is ResourceType.TOPIC else ())]
        raise self.invalid(node, f"unknown {kind.word} key {name!r}{suggestion(name, known)}")

    def conditions(self, node: YamlNode, key: ConfigKey, kind: ResourceType) -> tuple[Condition, ...]:
        places = self.fields(node, list(Operator), "a condition")
        if not places:
            raise InvalidNode if node.value else self.invalid(node, "a condition must not be empty")
        found = self.read_each(places, lambda name: self.condition(Operator(name), places[name], key, kind))
        by_operator = {each.operator: each for each in found}
        if Operator.REQUIRED in by_operator and Operator.FORBIDDEN in by_operator:
            self.report(places["forbidden"], "a key cannot be both required and forbidden")
        if Operator.MIN in by_operator and Operator.MAX in by_operator:
            lowest, highest = (amount(key, by_operator[each].operands[0], {}) for each in (Operator.MIN, Operator.MAX))
            if lowest > highest:
                self.report(places["max"], "max is below min, so no value can match")
        return found

    def condition(self, operator: Operator, node: YamlNode, key: ConfigKey, kind: ResourceType) -> Condition:
        if operator in ABOUT_OVERRIDES:
            if key.name in FACTS:
                raise self.invalid(node, f"every topic has {key.name}: it can be neither required nor forbidden")
            if not self.flag(node, operator):
                raise self.invalid(node, f"{operator}: false has no effect; remove it")
            return Condition(operator, (), "")
        if key.sensitive:
            raise self.invalid(node, f"{key.name} is sensitive: only the conditions required and forbidden are allowed")
        if operator in RELATIONS:
            return self.relation(operator, node, key, kind)
        self.fits(operator, node, key)
        if operator is Operator.MATCHES:
            text = self.text(node, operator)
            try:
                compile_regex(text, whole=True)
            except ValueError as error:
                raise self.invalid(node, f"the pattern {text} {error}") from None
            return Condition(operator, (text,), text)
        nodes = self.items(node, operator) if operator in _MANY else [node]
        values = self.read_each(nodes, lambda each: self.value(operator, each, key))
        return Condition(operator, values, ", ".join(str(each.value) for each in nodes))

    def fits(self, operator: Operator, node: YamlNode, key: ConfigKey) -> None:
        """Whether the operator works on values of the key's type."""
        type_ = key.type
        if operator in (Operator.MIN, Operator.MAX) and type_ not in NUMBERS:
            raise self.invalid(node, f"{operator} compares numbers, but {key.name} is a {type_.name}")
        if operator in (Operator.CONTAINS, Operator.EXCLUDES) and type_ is not ValueType.LIST:
            raise self.invalid(node, f"{operator} works on lists, but {key.name} is a {type_.name}")
        if operator is Operator.MATCHES and type_ not in _TEXTS:
            raise self.invalid(node, f"matches works on strings, but {key.name} is a {type_.name}")

    def value(self, operator: Operator, node: YamlNode, key: ConfigKey) -> Value:
        text = self.text(node, operator)
        choices = key.validator.choices if key.validator is not None else ()
        try:
            if operator in (Operator.CONTAINS, Operator.EXCLUDES):
                if choices and text not in choices:
                    raise InvalidValue(f"use {', '.join(choices)}")
                return text
            value = read_amount(key, text) if key.type in NUMBERS else collapse(parse(key.type, text))
            if key.validator is not None and operator not in (Operator.MIN, Operator.MAX):
                key.validator(value)
        except InvalidValue as error:
            reason = f"{error}{suggestion(text, choices)}"
            raise self.invalid(node, invalid_in_file_message(text, key.name, reason)) from None
        return value

    def relation(self, operator: Operator, node: YamlNode, key: ConfigKey, kind: ResourceType) -> Condition:
        name = self.text(node, operator)
        other = self.key(node, kind)
        for each in (key, other):
            if each.type not in NUMBERS:
                raise self.invalid(node, f"{operator} compares numbers, but {each.name} is a {each.type.name}")
        if other.name == key.name:
            raise self.invalid(node, f"{key.name} is compared with itself")
        own, its = unit_of(key.name), unit_of(other.name)
        if (own and own[0]) != (its and its[0]):
            raise self.invalid(node, f"{key.name} and {name} cannot be compared: only one of them is a time or a size")
        return Condition(operator, (name,), name)


def _type_of(node: YamlNode | None) -> ResourceType | None:
    """The resource type of an invalid selector, if it can be determined, so that the rule's key can still be
    checked."""
    while node is not None and node.id == "sequence" and node.value:
        node = node.value[0]
    if node is not None and node.id == "mapping":
        node = next((value for key, value in node.value if key.value == "type"), None)
    return TYPES.get(str(node.value).partition(":")[0]) if node is not None and node.id == "scalar" else None


def _stands_for(key: ConfigKey, name: str) -> bool:
    return any(fallback.name == name for fallback in key.fallbacks)
