"""Each validator accepts and refuses the same values as that of Kafka 4.3.1."""

from __future__ import annotations

import math

import pytest

from kconf.configdef import validators as checks
from kconf.configdef.java.parsing import InvalidValue, Value, parse
from kconf.configdef.validators import Validator, above_zero, between, collapse, list_of, one_of, one_of_any_case
from kconf.model.entry import ValueType


def passes(validator: Validator, value: Value) -> bool:
    try:
        validator(value)
    except InvalidValue:
        return False
    return True


def passes_text(validator: Validator, text: str, type_: ValueType = ValueType.LIST) -> bool:
    value = parse(type_, text)
    return passes(validator, collapse(value) if validator.distinct else value)


def test_a_range_includes_its_bounds() -> None:
    assert [passes(between(0, 1), value) for value in (-0.1, 0, 0.5, 1, 1.01)] == [False, True, True, True, False]
    assert [passes(between(1), value) for value in (0, 1, 2**63 - 1)] == [False, True, True]


def test_nan_passes_every_range() -> None:
    assert passes(between(0, 1), math.nan)
    assert passes(between(0), math.nan)


def test_equal_ranges_are_one_object() -> None:
    assert between(1) is checks.AT_LEAST_1
    assert between(1, 17) is checks.LZ4_LEVEL


def test_a_validator_describes_its_valid_values() -> None:
    assert str(between(1)) == "at least 1"
    assert between(1, 9).describe() == "from 1 to 9"
    assert str(one_of("a", "b")) == "one of a, b"
    assert one_of("a", "b").choices == ("a", "b")
    assert str(list_of("a", filled=True)) == "non-empty list of a"


def test_a_refusal_gives_the_reason() -> None:
    with pytest.raises(InvalidValue, match="at least 1"):
        between(1)(0)
    with pytest.raises(InvalidValue, match="'c'"):
        list_of("a", "b")(("a", "c"))


def test_a_set_of_strings_is_case_sensitive() -> None:
    assert passes(one_of("CreateTime", "LogAppendTime"), "CreateTime")
    assert not passes(one_of("CreateTime", "LogAppendTime"), "createtime")
    assert passes(one_of_any_case("UPGRADE"), "Upgrade")
    assert not passes(one_of_any_case("UPGRADE"), "up")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("", True),
        ("delete", True),
        ("compact,delete", True),
        ("delete,delete", True),
        ("Delete", False),
        ("none", False),
        ("delete,", False),
        ("delete,,compact", False),
    ],
)
def test_a_list_of_choices_takes_no_empty_item_but_may_be_empty(text: str, good: bool) -> None:
    assert passes_text(checks.CLEANUP_POLICY, text) is good


def test_a_required_list_must_have_an_item() -> None:
    assert passes_text(checks.FILLED_LIST, "a")
    assert not passes_text(checks.FILLED_LIST, "")
    assert passes_text(checks.ANY_LIST, "")
    assert not passes_text(checks.ANY_LIST, "a,,b")


def test_repeated_items_are_removed_except_the_first() -> None:
    assert collapse(("b", "a", "b")) == ("b", "a")
    assert collapse("b,b") == "b,b"


@pytest.mark.parametrize(("level", "good"), [(-2, False), (-1, True), (0, False), (1, True), (9, True), (10, False)])
def test_gzip_has_levels_1_to_9_and_its_own_default(level: int, good: bool) -> None:
    assert passes(checks.GZIP_LEVEL, level) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("", True),
        ("*", True),
        ("*,", True),
        ("0:1", True),
        ("0:1,0:1", True),
        ("0:1,,1:2", True),
        (" 0:1 , 1:2", True),
        ("*,*", False),
        ("0:1,*", False),
        ("0:", False),
        ("a:b", False),
        ("\u0661:1", False),
    ],
)
def test_throttled_replicas_are_pairs_or_a_star(text: str, good: bool) -> None:
    assert passes_text(checks.THROTTLED_REPLICAS, text) is good
    assert not checks.THROTTLED_REPLICAS.distinct


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("latest", True),
        ("earliest", True),
        ("LATEST", False),
        ("none", False),
        ("by_duration", False),
        ("by_duration:", False),
        ("by_duration:PT1H", True),
        ("by_duration:pt1h", True),
        ("by_duration:P1D", True),
        ("by_duration:P+1DT-1H", True),
        ("by_duration:PT1.5S", True),
        ("by_duration:PT1,5S", True),
        ("by_duration:PT0S", True),
        ("by_duration:-PT-1H", True),
        ("by_duration:PT1.1234567890S", False),
        ("by_duration:P", False),
        ("by_duration:PT", False),
        ("by_duration:P1DT", False),
        ("by_duration:P1W", False),
        ("by_duration:PT1M1H", False),
        ("by_duration:-PT1H", False),
        ("by_duration:PT-0.5S", False),
        ("by_duration:PT99999999999999999999S", False),
        ("by_duration: PT1H", False),
        ("By_duration:PT1H", False),
    ],
)
def test_a_share_group_starts_at_an_end_or_some_time_ago(text: str, good: bool) -> None:
    assert passes(checks.STARTING_POINT, text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("", True),
        ("client_id=a", True),
        ("client_id = a.* ,client_source_port=9.*", True),
        ("client_id=a,client_id=a", True),
        ("client_id=a=", True),
        ("client_id=\\p{Alpha}+", True),
        ("client_id", False),
        ("client_id=", False),
        ("client_id=a=b", False),
        ("client_id==a", False),
        ("client_id=[", False),
        ("CLIENT_ID=a", False),
        ("x=a", False),
        ("client_id=a,", False),
        ("=", False),
    ],
)
def test_clients_are_matched_by_known_names_and_regular_expressions(text: str, good: bool) -> None:
    assert passes_text(checks.CLIENT_MATCH, text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("", True),
        ("localhost:9092", True),
        ("a:1,a:1", True),
        ("[::1]:9092", True),
        (":9092", True),
        ("PLAINTEXT://h:1", True),
        ("h:65535", True),
        ("h:65536", False),
        ("h:99999999999", False),
        ("h", False),
        ("h:", False),
        ("h:-1", False),
        ("h x:1", False),
        ("a:1,,b:2", False),
    ],
)
def test_an_address_must_have_a_host_and_a_port(text: str, good: bool) -> None:
    assert passes_text(checks.ADDRESSES, text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("", True),
        ("1@h:1", True),
        ("1@h:1,2@h:2", True),
        ("+1@h:1", True),
        ("-1@h:1", True),
        ("1@0.0.0.0:0", True),
        ("x@h:1", False),
        ("@h:1", False),
        ("1@h", False),
        ("1@h:1@x", False),
        ("99999999999@h:1", False),
        ("1@h:1,", False),
    ],
)
def test_a_voter_must_have_an_id_and_an_address(text: str, good: bool) -> None:
    assert passes_text(checks.VOTERS, text) is good


def test_a_non_empty_string_must_not_be_blank() -> None:
    assert passes_text(checks.NON_EMPTY_STRING, "x", ValueType.STRING)
    assert not passes_text(checks.NON_EMPTY_STRING, "  ", ValueType.STRING)
    assert passes_text(checks.NOT_NULL, "", ValueType.STRING)


def test_a_rate_must_be_above_zero() -> None:
    rate = above_zero()

    assert [passes(rate, value) for value in (-1.0, 0.0, 1e-9, 1e300, math.inf, math.nan)] == [False] * 2 + [True] * 4


def test_a_whole_quota_must_be_close_to_an_integer_of_its_type() -> None:
    quota = above_zero(highest=2**31 - 1)

    assert [passes(quota, value) for value in (1.0, 5.0000001, 2147483647.0, math.nan)] == [True] * 4
    assert [passes(quota, value) for value in (0.0, 1.5, 0.9999, 2147483648.0, math.inf)] == [False] * 5
    assert passes(above_zero(highest=2**63 - 1), 2.0**63)  # equal, once both are doubles
    assert not passes(above_zero(highest=2**63 - 1), 2.0**63 * 1.001)


def test_a_credential_must_have_4096_to_16384_iterations() -> None:
    assert passes(checks.CREDENTIAL, "salt=a,stored_key=b,server_key=c,iterations=4096")
    assert passes(checks.CREDENTIAL, 16384)
    assert not passes(checks.CREDENTIAL, "salt=a,stored_key=b,server_key=c,iterations=4095")
    assert not passes(checks.CREDENTIAL, 16385)
    assert not passes(checks.CREDENTIAL, "secret")


@pytest.mark.parametrize("text", ["0.8.0", "0.10.2", "0.10.1-IV2", "2.8", "2.8.0-SNAPSHOT", "3.0-IV1", "3.0.1", "3.9"])
def test_metadata_versions_may_be_short_or_exact(text: str) -> None:
    assert passes(checks.METADATA_VERSION, text)


@pytest.mark.parametrize("text", ["", "3", "0.10", "3.0-IV9", "0.8.0-IV0", "2.9", "4.0", "4.1", "x"])
def test_other_metadata_versions_are_unknown_to_3_9(text: str) -> None:
    assert not passes(checks.METADATA_VERSION, text)
