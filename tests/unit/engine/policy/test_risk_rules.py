"""Rules that forbid or allow risks by their names."""

from __future__ import annotations

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.parser import read_rules
from kconf.engine.policy.risk_rules import is_allowed
from kconf.engine.policy.rules import Rules
from kconf.engine.risks import Risk, RiskName
from kconf.errors import ConfigurationError
from kconf.model.resource import Resource

COMPACT = Risk(RiskName.COMPACTION, "records without a key are rejected")
INHERITED = COMPACT._replace(topics=("lab.a", "orders"))


def rules(*lines: str) -> Rules:
    return read_rules("rules:\n" + "\n".join(f"  - {{{line}}}" for line in lines), kafka_43())


def forbidden(found: Rules, resource: Resource, risk: Risk = COMPACT) -> list[str]:
    return [each.rule.id for each in found.evaluate_risks(resource, [risk])]


def test_the_last_rule_that_selects_a_resource_decides() -> None:
    found = rules("id: no, selector: topic, forbid: compaction", "id: lab, selector: 'topic:lab.*', allow: compaction")

    assert forbidden(found, Resource.topic("orders")) == ["no"]
    assert forbidden(found, Resource.topic("lab.a")) == []
    assert forbidden(found, Resource.topic("orders"), COMPACT._replace(name=RiskName.MESSAGE_SIZE)) == []
    turned = Rules((), (), tuple(reversed(found.risk_rules)))
    assert forbidden(turned, Resource.topic("lab.a")) == ["no"]


def test_a_rule_about_a_topic_applies_to_brokers_from_which_it_inherits() -> None:
    found = rules("id: orders, selector: 'topic:orders', forbid: compaction")

    assert forbidden(found, Resource.brokers(), INHERITED) == ["orders"]
    assert forbidden(found, Resource.brokers(), COMPACT._replace(topics=("lab.a",))) == []


def test_a_risk_of_a_broker_is_allowed_by_a_rule_about_brokers_or_all_topics() -> None:
    def allowed(*lines: str) -> bool:
        found = rules(*lines)
        return is_allowed(found.risk_rules, Resource.brokers(), INHERITED, found.labels)

    assert allowed("id: b, selector: brokers, allow: compaction")
    assert allowed("id: t, selector: topic, allow: compaction")
    assert not allowed("id: t, selector: 'topic:lab.*', allow: compaction")
    assert not allowed("id: b, selector: brokers, allow: compaction", "id: t, selector: topic, forbid: compaction")


def test_a_finding_has_the_message_the_risk_and_the_rule() -> None:
    found = rules("id: no, selector: topic, forbid: compaction, message: ask us, severity: warn")
    (finding,) = found.evaluate_risks(Resource.topic("orders"), [COMPACT])

    assert finding.text == "ask us: compaction is forbidden: records without a key are rejected (rule no)"
    assert finding.rule.severity == "warn"


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("id: a, selector: topic, forbid: compactoin", "unknown risk 'compactoin'; did you mean compaction?"),
        ("id: a, selector: topic, forbid: lockout", "lockout is not a risk of a topic"),
        ("id: a, selector: group, forbid: compaction", "compaction is not a risk of a group"),
        ("id: a, selector: broker, forbid: quota-below-usage", "quota-below-usage is not a risk of a broker"),
        ("id: a, selector: topic, forbid: compaction, key: name", "a rule with forbid cannot have key"),
        ("id: a, selector: topic, forbid: compaction, allow: data-loss", "a rule with forbid cannot have allow"),
        ("id: a, selector: topic, allow: compaction, severity: warn", "a rule with allow refuses nothing"),
        ("selector: topic, forbid: compaction", "id"),
    ],
)
def test_an_invalid_risk_rule_is_refused_with_the_reason(line: str, mistake: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        rules(line)
    assert mistake in str(caught.value)
