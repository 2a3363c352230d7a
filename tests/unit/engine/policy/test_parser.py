"""Every error is reported with its line and column, and all at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.conditions import Operator
from kconf.engine.policy.hooks import TopicProposal
from kconf.engine.policy.parser import read_rules
from kconf.engine.policy.selectors import Severity
from kconf.errors import PolicyViolation
from kconf.util.yaml.reader import ParseErrors

CATALOGUE = kafka_43()
EXAMPLE = Path(__file__).parents[4] / "examples" / "policy.yaml"


def mistakes(text: str) -> list[str]:
    with pytest.raises(ParseErrors) as refused:
        read_rules(text, CATALOGUE, "p.yaml")
    return str(refused.value).splitlines()


def rule(text: str) -> str:
    return f"rules:\n  - {{id: r, {text}}}\n"


GOLDEN = """\
verson: 1
labels:
  topic:pay.*: {tier: gold}
  topics:x: {tier: silver}
rules:
  - id: a
    selector: {type: topic, labels: {tier: goldd}}
    key: retention.mss
    condition: {min: 7x}
  - id: a
    selector: topic:/(?!a)b/
    key: retention.ms
    condition: {min: 7MB, max: yes, foo: 1}
    severity: wrn
    always: yes
  - id: c
    selector: topic
    key: log.retention.ms
    condition: {min: 1}
  - id: d
    selector: ""
    key: segment.bytes
    condition: {max: 1G}
  - selector: [topic, group:x]
    key: cleanup.policy
    condition: {contains: compct, required: no}
  - just text
"""


TOLD = """\
p.yaml:1:1: unknown field 'verson' in a policy; did you mean version?
p.yaml:4:3: unknown resource type 'topics'; did you mean topic?; use one of \
topic, broker, brokers, group, client-metrics
p.yaml:7:44: no entry of labels gives tier the value 'goldd'; did you mean gold?
p.yaml:8:10: unknown topic key 'retention.mss'; did you mean retention.ms?
p.yaml:10:9: rule 'a' is already defined on line 6
p.yaml:11:15: the pattern /(?!a)b/ contains a negative lookahead, (?!, which RE2 does not support
p.yaml:13:22: '7MB' is not a valid value of retention.ms: retention.ms is a time: its units are ms, s, m, min, h, d, w
p.yaml:13:32: 'yes' is not a valid value of retention.ms: expected an integer of type LONG, from -9223372036854775808 \
to 9223372036854775807
p.yaml:13:37: unknown field 'foo' in a condition
p.yaml:14:15: severity must be error or warn: 'wrn'; did you mean warn?
p.yaml:15:13: always must be true or false: 'yes'
p.yaml:18:10: log.retention.ms is a broker key, but the rule selects topics; use retention.ms
p.yaml:21:15: a selector must be a string
p.yaml:24:5: a rule needs the field id
p.yaml:24:23: all selectors of a rule must be of the same resource type
p.yaml:26:27: 'compct' is not a valid value of cleanup.policy: use compact, delete; did you mean compact?
p.yaml:26:45: required must be true or false: 'no'
p.yaml:27:5: a rule must be a mapping of fields"""


def test_all_errors_of_a_file_are_reported_at_once() -> None:
    assert "\n".join(mistakes(GOLDEN)) == TOLD


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "1:1: the file is empty; use `rules: []` for a policy without rules"),
        ("# nothing but words\n", "1:1: the file is empty; use `rules: []` for a policy without rules"),
        ("[]", "1:1: a policy must be a mapping of fields"),
        ("version: 1", "1:1: a policy needs the field rules"),
        ("rules: {}", "1:8: rules must be a list"),
        ("version: 2\nrules: []", "1:10: this version of kconf supports only version 1 of the policy language"),
        ("rules: []\nrules: []", "2:1: rules occurs twice in a policy"),
        ("rules: [", "2:1: not YAML: did not find expected node content"),
        ("rules:\n\t- a", "2:1: not YAML: found character that cannot start any token"),
        ("rules: []\n---\nrules: []", "2:1: a file must contain one document; move the others to separate files"),
        ("rules: *x", "1:8: undefined alias *x"),
        ("rules: []\nx: a\x07b", "2:5: not YAML: it contains an illegal character"),
        ("{[a]: b, rules: []}", "1:2: field names in a policy must be strings"),
        ("rules: " + "[" * 20_000, "1:108: nested too deeply"),
        ("rules: []\nlabels: {topic:x: gold}", "2:19: labels must be a mapping of fields"),
        ("rules: []\nlabels: {topic:x: {tier: }}", "2:26: the value of a label must be a string"),
    ],
)
def test_a_file_that_is_not_a_policy_is_refused(text: str, mistake: str) -> None:
    assert mistakes(text) == [f"p.yaml:{mistake}"]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("key: retention.ms, condition: {min: 1}", "a rule needs the field selector"),
        ("selector: topic, condition: {min: 1}", "a rule needs the field key"),
        ("selector: topic, key: retention.ms", "a rule needs the field condition"),
        ("selector: »[], key: retention.ms, condition: {min: 1}", "selector must not be empty"),
        ("selector: »{}, key: retention.ms, condition: {min: 1}", "a selector needs the field type"),
        (
            "selector: »'topic:', key: retention.ms, condition: {min: 1}",
            "a selector must be TYPE or TYPE:NAME; the name is missing: 'topic:'",
        ),
        (
            "selector: »'topic:/x', key: retention.ms, condition: {min: 1}",
            "a regular expression must end with a slash: '/x'",
        ),
        (
            "selector: »'topic:/[/', key: retention.ms, condition: {min: 1}",
            "the pattern /[/ cannot be parsed: missing ]: [",
        ),
        (
            "selector: »'brokers:1', key: log.retention.ms, condition: {min: 1}",
            "`brokers` is the cluster-wide default and has no name; use broker:NAME for a single broker",
        ),
        (
            "selector: {type: topic, labels: {»tier: x}}, key: retention.ms, condition: {min: 1}",
            "no entry of labels defines the label 'tier'",
        ),
        ("selector: topic, key: retention.ms, condition: »{}", "a condition must not be empty"),
        ("selector: topic, key: retention.ms, condition: {min: »}", "min must be a string"),
        (
            'selector: topic, key: retention.ms, condition: {min: 1}, message: "\\u»d800"',
            "not YAML: found invalid Unicode character escape code",
        ),
        ("id: x, selector: &a [»*a], key: retention.ms, condition: {min: 1}", "&a contains itself"),
        (
            "selector: topic, key: retention.ms, condition: {required: »false}",
            "required: false has no effect; remove it",
        ),
        (
            "selector: topic, key: retention.ms, condition: {required: true, forbidden: »true}",
            "a key cannot be both required and forbidden",
        ),
        (
            "selector: topic, key: retention.ms, condition: {min: 2d, max: »1d}",
            "max is below min, so no value can match",
        ),
        (
            "selector: topic, key: retention.ms, condition: {max: »1d, min: unlimited}",
            "max is below min, so no value can match",
        ),
        (
            "selector: topic, key: partitions, condition: {required: »true}",
            "every topic has partitions: it can be neither required nor forbidden",
        ),
        (
            "selector: topic, key: cleanup.policy, condition: {min: »1}",
            "min compares numbers, but cleanup.policy is a LIST",
        ),
        (
            "selector: topic, key: retention.ms, condition: {contains: »1}",
            "contains works on lists, but retention.ms is a LONG",
        ),
        (
            "selector: topic, key: retention.ms, condition: {matches: »'1'}",
            "matches works on strings, but retention.ms is a LONG",
        ),
        (
            "selector: topic, key: preallocate, condition: {equals: »1}",
            "'1' is not a valid value of preallocate: expected true or false",
        ),
        (
            "selector: topic, key: compression.type, condition: {one_of: [»zstdd]}",
            (
                "'zstdd' is not a valid value of compression.type: must be one of "
                "uncompressed, zstd, lz4, snappy, gzip, producer; did you mean zstd?"
            ),
        ),
        ("selector: topic, key: compression.type, condition: {one_of: »[]}", "one_of must not be empty"),
        (
            "selector: topic, key: min.insync.replicas, condition: {min: »2d}",
            "'2d' is not a valid value of min.insync.replicas: min.insync.replicas has no unit: pass the number alone",
        ),
        (
            "selector: topic, key: min.insync.replicas, condition: {equals: »0}",
            "'0' is not a valid value of min.insync.replicas: must be at least 1",
        ),
        (
            "selector: topic, key: segment.bytes, condition: {at_most: »retention.ms}",
            "segment.bytes and retention.ms cannot be compared: only one of them is a time or a size",
        ),
        (
            "selector: topic, key: segment.bytes, condition: {at_most: »segment.byte}",
            "unknown topic key 'segment.byte'; did you mean segment.bytes?",
        ),
        (
            "selector: topic, key: segment.bytes, condition: {at_most: »segment.bytes}",
            "segment.bytes is compared with itself",
        ),
        (
            "selector: topic, key: segment.bytes, condition: {at_most: »cleanup.policy}",
            "at_most compares numbers, but cleanup.policy is a LIST",
        ),
        (
            "selector: broker, key: ssl.keystore.password, condition: {equals: »hunter2}",
            "ssl.keystore.password is sensitive: only the conditions required and forbidden are allowed",
        ),
        ("selector: group, key: »name, condition: {equals: x}", "unknown group key 'name'"),
    ],
)
def test_an_invalid_rule_is_reported_with_its_line_and_column(text: str, mistake: str) -> None:
    """» marks the column of the error; without it, the error is at the rule."""
    column = rule(text).splitlines()[1].find("»") + 1 or 5

    assert mistakes(rule(text.replace("»", ""))) == [f"p.yaml:2:{column}: {mistake}"]


def test_a_sensitive_key_may_be_required_or_forbidden_also_with_a_listener_prefix() -> None:
    rules = read_rules(
        rule("selector: broker, key: listener.name.internal.ssl.keystore.password, condition: {forbidden: true}"),
        CATALOGUE,
    )

    (found,) = rules.rules
    assert found.key.name == "listener.name.internal.ssl.keystore.password"
    assert found.key.sensitive
    assert found.conditions[0].operator is Operator.FORBIDDEN


def test_omitted_fields_of_a_rule_have_defaults() -> None:
    (found,) = read_rules(rule("selector: topic, key: retention.ms, condition: {min: 1d}"), CATALOGUE).rules

    assert (found.severity, found.always, found.message) == (Severity.ERROR, False, "")


def test_a_policy_may_have_no_rules() -> None:
    assert read_rules("rules: []", CATALOGUE).rules == ()


def test_anchors_may_be_used() -> None:
    text = """
rules:
  - {id: a, selector: &mine {type: topic, except: "__*"}, key: retention.ms, condition: {min: 1}}
  - {id: b, selector: *mine, key: segment.ms, condition: {min: 1}}
"""
    first, second = read_rules(text, CATALOGUE).rules

    assert first.selectors == second.selectors


def test_the_example_policy_is_valid() -> None:
    rules = read_rules(EXAMPLE.read_text(), CATALOGUE, str(EXAMPLE)).rules

    assert len(rules) == 10
    assert {condition.operator for each in rules for condition in each.conditions} >= {"min", "max", "below", "matches"}


def test_the_examples_of_the_how_to_are_valid() -> None:
    """Its YAML blocks are a policy, a selector, and rules about risks; its Python block is a policy class."""
    text = (EXAMPLE.parents[1] / "docs" / "how-to" / "write-a-policy.md").read_text()
    policy, selector, risks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    made: dict[str, Any] = {}
    exec(code, made)
    careful = made["Careful"]()
    careful.configure({})

    read_rules(policy, CATALOGUE)
    assert read_rules(risks, CATALOGUE).count == 3
    labels = policy[: policy.index("rules:")]
    read_rules(f"{labels}rules: [{{id: x, {selector.strip()}, key: name, condition: {{equals: orders}}}}]", CATALOGUE)
    with pytest.raises(PolicyViolation, match="may have at most 12 partitions"):
        careful.check_create(TopicProposal("t", 13, 1, None, {}))
