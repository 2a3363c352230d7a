"""The policy rules, evaluated on whole tables; engine/policy/conditions.py defines their meaning.

A subject is a resource after a change: for each key used by rules, its effective value (`values`) and whether it is set
on the resource itself (`overrides`); for topics also `partitions` and `replication`. For the change: whether it
`touched` a key or `altered` the resource. `assumed` lists the keys whose value was unknown at that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.configdef.java.parsing import Value
from kconf.configdef.key import ConfigKey
from kconf.configdef.units import FOLLOWS, MINUS_ONE_IS_UNLIMITED, NUMBERS, unit_of
from kconf.engine.policy.conditions import (
    ABOUT_OVERRIDES,
    FACTS,
    NAME,
    PARTITIONS,
    RELATIONS,
    REPLICATION_FACTOR,
    Condition,
    Operator,
    Rule,
)
from kconf.engine.policy.regex import LONGEST, anchored
from kconf.engine.policy.rules import Rules
from kconf.engine.policy.selectors import NamePattern, RuleSelector
from kconf.model.entry import ValueType
from kconf.spark.transforms.values import items, matches_pattern, matches_regex, trimmed, whole

_INFINITE: Final = float("inf")
_FINDING: Final = (
    "struct<rule:string,severity:string,key:string,value:string,condition:string,message:string,"
    "evaluated:boolean,assumed:boolean>"
)


def keys_of_rules(rules: Rules) -> list[str]:
    """Every key used by some rule, in order, except the partitions and replication of topics."""
    return sorted({name for rule in rules.rules for name in rule.keys} - set(FACTS))


def broken(subjects: DataFrame, rules: Rules) -> DataFrame:
    """Subjects with `found`: the results of violated rules, null for others; null if no rule is violated.

    `evaluated`: whether the change is checked against the rule. The creation of a topic is checked against all rules.
    """
    numbered = [(rule, f"broken_{number}") for number, rule in enumerate(rules.rules)]
    rows = subjects.withColumn("labels", labels(rules))
    rows = rows.select("*", *(_broken(rule).alias(name) for rule, name in numbered))
    found = F.array(*(_finding(rule, name) for rule, name in numbered)).cast(f"array<{_FINDING}>")
    any_of_them = F.coalesce(*(name for _, name in numbered))
    return rows.withColumn("found", F.when(any_of_them.isNotNull(), found))


def _broken(rule: Rule) -> Column:
    """The first violated condition, or null."""
    chosen = reduce(or_, (selects(each) for each in rule.selectors))
    return F.when(
        F.col("exists") & chosen, F.coalesce(*(F.when(~holds(each, rule), _said(each)) for each in rule.conditions))
    )


def _finding(rule: Rule, said: str) -> Column:
    """The result of a violated rule, or null."""
    shown = F.lit(None) if rule.key.sensitive else value_of(rule.key)
    values = sorted(rule.keys - set(FACTS))
    touched = [F.col("touched")[name] for name in [*values, *(rule.keys & {PARTITIONS.name})]]
    assumed = reduce(or_, (F.col("assumed")[name] for name in values), F.lit(False))
    finding = F.struct(
        F.lit(rule.id).alias("rule"),
        F.lit(rule.severity.value).alias("severity"),
        F.lit(rule.key.name).alias("key"),
        F.substring(shown.cast("string"), 1, LONGEST).alias("value"),
        F.col(said).alias("condition"),
        F.lit(rule.message).alias("message"),
        reduce(or_, touched, F.col("altered") & rule.always).alias("evaluated"),
        (assumed & _is_about_values(rule)).alias("assumed"),
    )
    return F.when(F.col(said).isNotNull(), finding)


def _is_about_values(rule: Rule) -> Column:
    return F.lit(any(each.operator not in ABOUT_OVERRIDES for each in rule.conditions))


def _said(condition: Condition) -> Column:
    return F.lit(f"{condition.operator.value} {condition.text}".strip())


# -- selectors -------------------------------------------------------------------------------------------------------


def selects(selector: RuleSelector) -> Column:
    name = F.col("resource_name")
    chosen = F.col("resource_type") == selector.type.word
    if selector.default is not None:
        chosen = chosen & ((name == "") == F.lit(selector.default))
    if selector.names.patterns:
        chosen = chosen & _fits(name, selector.names.patterns)
    if selector.excepted:
        chosen = chosen & ~_fits(name, selector.excepted)
    for label, value in selector.labels:
        chosen = chosen & F.coalesce(F.col("labels")[label] == value, F.lit(False))
    return chosen


def _fits(name: Column, patterns: tuple[NamePattern, ...]) -> Column:
    return (F.length(name) > LONGEST) | reduce(or_, (matches_pattern(name, each) for each in patterns))


def labels(rules: Rules) -> Column:
    """The labels of a resource used by any selector; of several matching entries, the last one applies."""
    asked = {name for rule in rules.rules for each in rule.selectors for name, _ in each.labels}
    found = dict.fromkeys(sorted(asked), F.lit(None).cast("string"))
    for each in rules.labelled:
        for name, value in each.labels:
            if name in asked:
                found[name] = F.when(selects(each.selector), F.lit(value)).otherwise(found[name])
    return fields([column.alias(name) for name, column in found.items()])


def fields(columns: Sequence[Column]) -> Column:
    """A struct of them, possibly empty."""
    return F.struct(*columns) if columns else F.struct(F.lit(None).alias("none"))


# -- conditions ------------------------------------------------------------------------------------------------------


def value_of(key: ConfigKey) -> Column:
    """The value of a key of the subject, or null."""
    if key is NAME:
        return F.col("resource_name")
    if key is PARTITIONS or key is REPLICATION_FACTOR:
        return F.col("partitions" if key is PARTITIONS else "replication").cast("string")
    return F.col("values")[key.name]


def holds(condition: Condition, rule: Rule) -> Column:
    """Whether a condition is met. A missing value violates nothing; an invalid value violates every condition."""
    operator, operands, key = condition.operator, condition.operands, rule.key
    if operator in ABOUT_OVERRIDES:
        is_set = F.col("overrides")[key.name]
        return is_set if operator is Operator.REQUIRED else ~is_set
    raw = value_of(key)
    if operator in RELATIONS:
        return raw.isNull() | F.coalesce(_relates(condition, rule), F.lit(False))
    match operator:
        case Operator.MIN:
            met = _amount(key) >= _bound(key, operands[0])
        case Operator.MAX:
            met = _amount(key) <= _bound(key, operands[0])
        case Operator.EQUALS | Operator.ONE_OF:
            met = reduce(or_, (_same(key, each) for each in operands))
        case Operator.NOT_ONE_OF:
            met = _readable(key) & ~reduce(or_, (_same(key, each) for each in operands))
        case Operator.MATCHES:
            met = (F.length(raw) <= LONGEST) & matches_regex(raw, anchored(str(operands[0])))
        case Operator.CONTAINS:
            met = reduce(and_, (F.array_contains(items(raw), str(each)) for each in operands))
        case _:
            met = reduce(and_, (~F.array_contains(items(raw), str(each)) for each in operands))
    return raw.isNull() | F.coalesce(met, F.lit(False))


def _number(key: ConfigKey, raw: Column) -> Column:
    return trimmed(raw).cast("double") if key.type is ValueType.DOUBLE else whole(raw).cast("double")


def _amount(key: ConfigKey) -> Column:
    """A number for comparison: unlimited is above everything, and local retention may equal total retention."""
    number = _number(key, value_of(key))
    number = F.when(~F.isnan(number), number)  # Spark treats it as above everything
    if key.name in MINUS_ONE_IS_UNLIMITED:
        number = F.when(number == -1, F.lit(_INFINITE)).otherwise(number)
    if key.name in FOLLOWS:
        limit = F.col("values")[FOLLOWS[key.name]]
        total = whole(limit).cast("double")
        follows = F.when(limit.isNull() | (total == -1), F.lit(_INFINITE)).otherwise(total)
        number = F.when(number == -2, follows).otherwise(number)
    return number


def _bound(key: ConfigKey, operand: Value) -> Column:
    unlimited = operand == -1 and key.name in MINUS_ONE_IS_UNLIMITED
    return F.lit(_INFINITE if unlimited else float(operand))  # type: ignore[arg-type]  # the parser ensures a number


def _same(key: ConfigKey, operand: Value) -> Column:
    raw = value_of(key)
    if isinstance(operand, tuple):
        wanted = F.array(*(F.lit(each) for each in sorted(set(operand)))).cast("array<string>")
        return F.array_sort(F.array_distinct(items(raw))) == wanted
    if isinstance(operand, bool):
        return F.lower(trimmed(raw)) == str(operand).lower()
    if key.type in NUMBERS:
        return _number(key, raw) == float(operand)
    return trimmed(raw) == str(operand)


def _readable(key: ConfigKey) -> Column:
    if key.type in NUMBERS:
        return _number(key, value_of(key)).isNotNull()
    if key.type is ValueType.BOOLEAN:
        return F.lower(trimmed(value_of(key))).isin("true", "false")
    return F.lit(True)


def _relates(condition: Condition, rule: Rule) -> Column:
    """Compared in one unit; true if the other key has no value."""
    other = rule.others[str(condition.operands[0])]
    mine, its = (_amount(key) * _unit(key) for key in (rule.key, other))
    match condition.operator:
        case Operator.AT_LEAST:
            met = mine >= its
        case Operator.AT_MOST:
            met = mine <= its
        case Operator.ABOVE:
            met = mine > its
        case _:
            met = mine < its
    return value_of(other).isNull() | met


def _unit(key: ConfigKey) -> float:
    unit = unit_of(key.name)
    return float(unit[1]) if unit else 1.0
