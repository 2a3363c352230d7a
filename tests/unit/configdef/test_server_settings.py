"""kconf's own settings: typed, limited, documented; an invalid value prevents the start with Kafka's message."""

from __future__ import annotations

import pytest

from kconf.configdef.broker import BROKER
from kconf.configdef.server_settings import (
    SERVER_SETTINGS,
    check_settings,
    flag_setting,
    int_setting,
    principals,
    text_setting,
)
from kconf.configdef.validate import validate
from kconf.errors import ConfigurationError


@pytest.mark.parametrize("name", SERVER_SETTINGS)
def test_every_setting_is_documented_and_has_a_valid_default(name: str) -> None:
    setting = SERVER_SETTINGS[name]

    assert setting.key.about.endswith(".")
    assert setting.set_by
    assert name not in BROKER  # Kafka's own keys are in Kafka's tables
    if setting.key.default:
        validate(setting.key, setting.key.default)


def test_a_setting_that_is_not_set_or_blank_has_its_default() -> None:
    for static in ({}, {"archive.interval.ms": " ", "archive.directory": " ", "allow.everyone.if.no.acl.found": ""}):
        assert int_setting(static, "archive.interval.ms") == 60_000
        assert text_setting(static, "archive.directory") == ""
        assert flag_setting(static, "allow.everyone.if.no.acl.found") is False


def test_values_are_typed() -> None:
    static = {"policy.timeout.ms": " 250 ", "policy.file": " p.yaml", "allow.everyone.if.no.acl.found": "TRUE"}

    assert int_setting(static, "policy.timeout.ms") == 250
    assert text_setting(static, "policy.file") == "p.yaml"
    assert flag_setting(static, "allow.everyone.if.no.acl.found") is True


def test_commas_are_part_of_super_user_names() -> None:
    assert principals("User:alice; User:CN=bob,O=ours;") == {"User:alice", "User:CN=bob,O=ours"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("policy.timeout.ms", "0", "must be from 1 to 600000"),
        ("change.feed.max.wait.ms", "3600001", "must be from 0 to 3600000"),
        ("change.feed.max.wait.ms", "5m", "expected an integer of type INT"),
        ("journal.retention.ms", "0", "must be at least 1, or -1 for no limit"),
        ("allow.everyone.if.no.acl.found", "perhaps", "expected true or false"),
        ("super.users", "User:alice;bob", "must contain principals of the form TYPE:NAME"),
    ],
)
def test_a_value_out_of_bounds_is_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        check_settings({"unknown": "x", name: text})

    assert str(refused.value).startswith(f"server.properties: Invalid value {text} for configuration {name}: {reason}")
