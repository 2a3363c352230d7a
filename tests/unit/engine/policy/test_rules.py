"""The meaning of each operator of the policy language, on Kafka's own keys."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.conditions import Subject
from kconf.engine.policy.hooks import AlterProposal, GrowthProposal, TopicProposal
from kconf.engine.policy.parser import read_rules
from kconf.engine.policy.rules import Finding, Rules
from kconf.engine.policy.selectors import NamePattern, Severity
from kconf.errors import PolicyViolation
from kconf.model.resource import Resource, Topic

CATALOGUE = kafka_43()
ORDERS = Resource.topic("orders")


def rules(text: str) -> Rules:
    return read_rules(text, CATALOGUE)


def rule(key: str, condition: str, selector: str = "topic", more: str = "") -> Rules:
    return rules(f"rules: [{{id: r, selector: {selector}, key: {key}, condition: {condition} {more}}}]")


def subject(
    values: Mapping[str, str] | None = None,
    resource: Resource = ORDERS,
    overrides: Mapping[str, str] | None = None,
    partitions: int | None = 3,
    replication_factor: int | None = 3,
) -> Subject:
    return Subject(resource, values or {}, overrides or {}, partitions, replication_factor)


def ids(findings: list[Finding]) -> list[str]:
    return [each.rule.id for each in findings]


def holds(key: str, condition: str, value: str | None) -> bool:
    return not rule(key, condition).evaluate(subject({} if value is None else {key: value}))


# -- conditions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "condition", "good", "bad"),
    [
        ("retention.ms", "{min: 7d}", ["604800000", "604800001"], ["604799999", "0"]),
        ("retention.ms", "{max: 30d}", ["2592000000", "0"], ["2592000001"]),
        ("retention.ms", "{min: 1h, max: 2h}", ["3600000", "7200000"], ["3599999", "7200001"]),
        ("segment.bytes", "{max: 1GiB}", ["1073741824"], ["1073741825"]),
        ("segment.bytes", "{min: 100MB}", ["100000000"], ["99999999"]),
        ("min.cleanable.dirty.ratio", "{max: 0.5}", ["0.5", "0"], ["0.51", "NaN"]),
        ("min.insync.replicas", "{equals: 2}", ["2", " 2 ", "+2"], ["1", "3"]),
        ("preallocate", "{equals: false}", ["false", "FALSE"], ["true"]),
        ("compression.type", "{one_of: [zstd, lz4]}", ["zstd", "lz4"], ["gzip", "producer"]),
        ("compression.type", "{one_of: zstd}", ["zstd"], ["gzip"]),
        ("compression.type", "{not_one_of: [gzip, snappy]}", ["zstd"], ["gzip", "snappy"]),
        ("compression.type", "{matches: 'z.*|lz4'}", ["zstd", "lz4"], ["gzip", "uncompressed"]),
        ("cleanup.policy", "{contains: compact}", ["compact", "delete,compact"], ["delete", ""]),
        ("cleanup.policy", "{excludes: [compact]}", ["delete", ""], ["compact,delete"]),
        ("cleanup.policy", "{equals: 'compact,delete'}", ["delete,compact", "compact,delete"], ["compact"]),
        ("cleanup.policy", "{one_of: [delete, 'compact,delete']}", ["delete", "delete,compact"], ["compact"]),
        ("retention.ms", "{one_of: [7d, unlimited]}", ["604800000", "-1"], ["1"]),
    ],
)
def test_a_condition_accepts_and_refuses_values(key: str, condition: str, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if not holds(key, condition, value)] == []
    assert [value for value in bad if holds(key, condition, value)] == []


def test_no_limit_exceeds_every_limit() -> None:
    """retention.ms -1 keeps data forever: a `max` must refuse it."""
    assert not holds("retention.ms", "{max: 30d}", "-1")
    assert not holds("retention.bytes", "{max: 1TiB}", "-1")
    assert holds("retention.ms", "{min: 30d}", "-1")
    assert holds("compression.gzip.level", "{max: 5}", "-1")  # for this key, -1 is a level


def test_local_retention_minus_2_has_the_value_of_the_total_retention() -> None:
    evaluate = rule("local.retention.ms", "{max: 1d}").evaluate

    assert evaluate(subject({"local.retention.ms": "-2", "retention.ms": "3600000"})) == []
    assert ids(evaluate(subject({"local.retention.ms": "-2", "retention.ms": "-1"}))) == ["r"]
    assert ids(evaluate(subject({"local.retention.ms": "-2", "retention.ms": "604800000"}), ["retention.ms"])) == ["r"]
    assert ids(evaluate(subject({"local.retention.ms": "-2", "retention.ms": "soon"}))) == ["r"]


@pytest.mark.parametrize("condition", ["{min: 1}", "{equals: 1}", "{not_one_of: [1]}", "{at_most: partitions}"])
def test_an_unset_key_violates_no_condition_and_an_invalid_value_every_one(condition: str) -> None:
    assert holds("min.insync.replicas", condition, None)
    assert not holds("min.insync.replicas", condition, "garbage")


def test_a_message_distinguishes_an_empty_value_from_one_that_is_not_set() -> None:
    (empty,) = rule("cleanup.policy", "{contains: compact}").evaluate(subject({"cleanup.policy": ""}))
    assert empty.text == "cleanup.policy is empty but must be a list with compact (rule r)"

    unknown = subject({"min.insync.replicas": "garbage"}, replication_factor=None)
    (unset,) = rule("min.insync.replicas", "{at_most: replication_factor}").evaluate(unknown)
    assert unset.text == "min.insync.replicas is garbage but must be at most replication_factor (not set) (rule r)"


def test_required_and_forbidden_check_what_is_set_on_the_resource_itself() -> None:
    value = {"retention.ms": "1"}
    required, forbidden = rule("retention.ms", "{required: true}"), rule("retention.ms", "{forbidden: true}")

    assert required.evaluate(subject(value, overrides=value)) == []
    assert ids(required.evaluate(subject(value))) == ["r"]
    assert ids(forbidden.evaluate(subject(value, overrides=value))) == ["r"]
    assert forbidden.evaluate(subject(value)) == []


@pytest.mark.parametrize(
    ("relation", "good", "bad"),
    [("at_most", [1, 3], [4]), ("below", [2], [3, 4]), ("at_least", [3, 4], [2]), ("above", [4], [3])],
)
def test_a_value_is_compared_with_the_replication_factor(relation: str, good: list[int], bad: list[int]) -> None:
    condition = f"{{{relation}: replication_factor}}"

    assert [each for each in good if not holds("min.insync.replicas", condition, str(each))] == []
    assert [each for each in bad if holds("min.insync.replicas", condition, str(each))] == []


def test_a_rule_can_compare_a_key_with_several_other_keys() -> None:
    both = rule("segment.ms", "{at_most: retention.ms, above: segment.jitter.ms}").evaluate

    assert both(subject({"segment.ms": "5", "retention.ms": "5", "segment.jitter.ms": "4"})) == []
    assert both(subject({"segment.ms": "5", "retention.ms": "-1", "segment.jitter.ms": "4"})) == []
    assert ids(both(subject({"segment.ms": "5", "retention.ms": "4", "segment.jitter.ms": "4"}))) == ["r"]
    assert ids(both(subject({"segment.ms": "5", "retention.ms": "5", "segment.jitter.ms": "5"}))) == ["r"]
    assert both(subject({"segment.ms": "5"})) == []


def test_keys_with_different_units_are_compared_by_amount() -> None:
    evaluate = rule("log.retention.hours", "{at_least: log.roll.ms}", selector="broker").evaluate
    broker = Resource.broker(1)

    assert evaluate(subject({"log.retention.hours": "1", "log.roll.ms": "3600000"}, broker)) == []
    assert ids(evaluate(subject({"log.retention.hours": "1", "log.roll.ms": "3600001"}, broker))) == ["r"]


def test_name_partitions_and_replication_factor_of_a_topic_are_checked() -> None:
    found = rules("""
rules:
  - {id: name, selector: topic, key: name, condition: {matches: "[a-z]+"}}
  - {id: parts, selector: topic, key: partitions, condition: {min: 3, max: 10}}
  - {id: factor, selector: topic, key: replication_factor, condition: {equals: 3}}
""")

    assert found.evaluate(subject()) == []
    assert ids(found.evaluate(subject(resource=Resource.topic("X"), partitions=2, replication_factor=1))) == [
        "name",
        "parts",
        "factor",
    ]
    assert found.evaluate(subject(partitions=None, replication_factor=None)) == []


# -- selectors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("orders", ["orders"], ["orders2", "my.orders"]),
        ("pay.*", ["pay.", "pay.a.b"], ["pay", "xpay.a", "payXa"]),
        ("v?", ["v1"], ["v", "v12"]),
        ("v[12]", ["v1", "v2"], ["v3"]),
        ("/pay/", ["pay", "xpay2"], ["pa"]),
        ("/^pay$/", ["pay"], ["xpay", "pay2"]),
    ],
)
def test_a_pattern_selects_topics_by_name(pattern: str, good: list[str], bad: list[str]) -> None:
    selector = f"{{type: topic, name: '{pattern}'}}"
    found = rule("retention.ms", "{required: true}", selector)

    for name in (*good, *bad):
        assert bool(found.evaluate(subject(resource=Resource.topic(name)))) is (name in good), name
        assert bool(NamePattern(pattern).compiled().search(name)) is (name in good)


def test_a_rule_applies_to_a_name_that_is_too_long_for_its_pattern() -> None:
    found = rule("interval.ms", "{required: true}", "'client-metrics:/^x/'")

    assert ids(found.evaluate(subject(resource=Resource.client_metrics("y" * 300)))) == ["r"]
    assert found.evaluate(subject(resource=Resource.client_metrics("y" * 30))) == []


def test_the_selector_broker_matches_every_broker_and_the_default() -> None:
    one, default = subject(resource=Resource.broker(1)), subject(resource=Resource.brokers())

    def selected(selector: str) -> list[bool]:
        found = rule("log.retention.ms", "{required: true}", selector)
        return [bool(found.evaluate(each)) for each in (one, default)]

    assert selected("broker") == [True, True]
    assert selected("brokers") == [False, True]
    assert selected("'broker:*'") == [True, False]
    assert selected("broker:2") == [False, False]


def test_a_rule_can_have_several_selectors_and_exceptions() -> None:
    found = rule("retention.ms", "{required: true}", "[topic:a, {type: topic, name: ['b*', c], except: ['/2$/', bx]}]")

    names = ["a", "b", "b2", "bx", "c", "d"]
    assert [name for name in names if found.evaluate(subject(resource=Resource.topic(name)))] == ["a", "b", "c"]


def test_labels_come_from_patterns_and_the_later_entry_wins() -> None:
    found = rules("""
labels:
  topic:*: {tier: bronze, team: all}
  topic:pay.*: {tier: gold}
  group:pay.*: {tier: silver}
rules:
  - {id: gold, selector: {type: topic, labels: {tier: gold, team: all}}, key: retention.ms, condition: {required: true}}
  - {id: bronze, selector: {type: topic, labels: {tier: bronze}}, key: retention.ms, condition: {required: true}}
""")

    assert found.labels(Resource.topic("pay.in")) == {"tier": "gold", "team": "all"}
    assert found.labels(Resource.group("pay.in")) == {"tier": "silver"}
    assert ids(found.evaluate(subject(resource=Resource.topic("pay.in")))) == ["gold"]
    assert ids(found.evaluate(subject(resource=Resource.topic("x")))) == ["bronze"]


# -- the rules that apply to a request -------------------------------------------------------------------------------


def test_a_rule_applies_when_its_key_or_a_compared_one_changes_or_always() -> None:
    found = rules("""
rules:
  - {id: own, selector: topic, key: retention.ms, condition: {max: 1d}}
  - {id: relation, selector: topic, key: segment.ms, condition: {at_most: retention.ms}}
  - {id: always, selector: topic, key: preallocate, condition: {equals: false}, always: true}
""")
    bad = subject({"retention.ms": "604800000", "segment.ms": "604800001", "preallocate": "true"})

    assert ids(found.evaluate(bad, ["retention.ms"])) == ["own", "relation", "always"]
    assert ids(found.evaluate(bad, ["segment.ms"])) == ["relation", "always"]
    assert ids(found.evaluate(bad, ["flush.ms"])) == ["always"]
    assert ids(found.evaluate(bad)) == ["own", "relation", "always"]


def proposal(
    changed: Mapping[str, str | None], resulting: Mapping[str, str], effective: Mapping[str, str]
) -> AlterProposal:
    return AlterProposal(ORDERS, changed, resulting, {"retention.ms": "5"}, effective=effective)


def test_an_alteration_that_falls_back_to_a_bad_value_is_refused() -> None:
    """The resulting value counts: after a DELETE, an invalid default may apply."""
    found = rule("retention.ms", "{max: 1h}")

    with pytest.raises(PolicyViolation, match=r"retention\.ms is 604800000 but must be at most 1h \(rule r\)"):
        found.check_alter(proposal({"retention.ms": None}, {}, {"retention.ms": "604800000"}))
    assert found.check_alter(proposal({"retention.ms": "6"}, {"retention.ms": "6"}, {"retention.ms": "6"})) == []


def test_a_key_that_a_replacement_drops_is_checked() -> None:
    with pytest.raises(PolicyViolation):
        rule("retention.ms", "{required: true}").check_alter(proposal({"flush.ms": "1"}, {"flush.ms": "1"}, {}))


def test_a_rule_about_an_unchanged_key_does_not_apply() -> None:
    found = rule("min.insync.replicas", "{min: 2}")

    assert found.check_alter(proposal({"retention.ms": "6"}, {"retention.ms": "6"}, {"min.insync.replicas": "1"})) == []


def test_an_altered_value_is_compared_with_the_replication_factor_of_its_topic() -> None:
    found = rule("min.insync.replicas", "{below: replication_factor}")
    requested = AlterProposal(
        ORDERS,
        {"min.insync.replicas": "2"},
        {"min.insync.replicas": "2"},
        {},
        topic=Topic("orders", UUID(int=1), ((1, 2),)),
        effective={"min.insync.replicas": "2"},
    )

    with pytest.raises(PolicyViolation, match=r"below replication_factor \(2\)"):
        found.check_alter(requested)


def test_a_new_topic_is_checked_by_all_rules() -> None:
    found = rules("""
rules:
  - {id: parts, selector: topic, key: partitions, condition: {min: 3}, message: too few}
  - {id: isr, selector: topic, key: min.insync.replicas, condition: {min: 2}}
""")

    with pytest.raises(PolicyViolation) as refused:
        found.check_create(TopicProposal("t", None, None, {0: (1,)}, {}, effective={"min.insync.replicas": "1"}))

    assert str(refused.value) == (
        "too few: partitions is 1 but must be at least 3 (rule parts); "
        "min.insync.replicas is 1 but must be at least 2 (rule isr)"
    )
    assert found.check_create(TopicProposal("t", 3, 2, None, {}, effective={"min.insync.replicas": "2"})) == []


def test_added_partitions_are_checked_only_by_rules_about_partitions() -> None:
    found = rules("""
rules:
  - {id: parts, selector: topic, key: partitions, condition: {max: 3}}
  - {id: isr, selector: topic, key: min.insync.replicas, condition: {min: 2}}
""")
    topic = Topic("orders", UUID(int=1), ((1,),) * 4)

    with pytest.raises(PolicyViolation, match=r"^partitions is 4 but must be at most 3 \(rule parts\)$"):
        found.check_growth(GrowthProposal(topic, 1, {}, effective={"min.insync.replicas": "1"}))


def test_a_warning_does_not_refuse() -> None:
    found = rule("retention.ms", "{max: 1h}", more=", severity: warn, message: long")

    assert found.rules[0].severity is Severity.WARN
    assert found.check_alter(proposal({"retention.ms": None}, {}, {"retention.ms": "604800000"})) == [
        "long: retention.ms is 604800000 but must be at most 1h (rule r)"
    ]


def test_a_refusal_lists_a_limited_number_of_violations() -> None:
    many = rules(
        "rules: ["
        + ",".join(f"{{id: r{n}, selector: topic, key: name, condition: {{equals: x}}}}" for n in range(9))
        + "]"
    )

    with pytest.raises(PolicyViolation) as refused:
        many.check_create(TopicProposal("t" * 249, 1, 1, None, {}))

    assert str(refused.value).endswith("; and 4 more")
    assert len(str(refused.value)) < 2000
