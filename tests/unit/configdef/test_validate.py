from __future__ import annotations

import pytest

from kconf.configdef.key import ConfigKey
from kconf.configdef.validate import invalid_value_message, normalize, validate
from kconf.configdef.validators import CREDENTIAL, between, list_of
from kconf.errors import InvalidConfig
from kconf.model.entry import ValueType

COUNT = ConfigKey(name="count", type=ValueType.INT, default="1", validator=between(1))
TAGS = ConfigKey(name="tags", type=ValueType.LIST, default="", validator=list_of("a", "b"))
WORDS = ConfigKey(name="words", type=ValueType.LIST, default="")
SECRET = ConfigKey(name="secret", type=ValueType.STRING, validator=CREDENTIAL, secret=True)


def test_a_valid_text_is_parsed() -> None:
    assert validate(COUNT, " +7") == 7


@pytest.mark.parametrize("text", ["0", "x", ""])
def test_a_refusal_names_value_and_key_and_gives_a_reason(text: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate(COUNT, text)

    assert str(refused.value).startswith(f"Invalid value {text} for configuration count: ")
    assert refused.value.__cause__ is None


def test_duplicates_are_removed_only_from_a_list_with_a_validator() -> None:
    assert validate(TAGS, "b,a,b") == ("b", "a")
    assert validate(WORDS, "b,a,b") == ("b", "a", "b")
    assert normalize(TAGS, " b , a,b") == "b,a"
    assert normalize(WORDS, " b , a,b") == "b,a,b"


def test_a_refusal_never_shows_a_sensitive_value() -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate(SECRET, "hunter2")

    assert "hunter2" not in str(refused.value)
    assert "secret" in str(refused.value)
    assert "hunter2" not in invalid_value_message(SECRET, "hunter2", "hunter2 is no good")


def test_a_refusal_of_a_long_value_is_short() -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate(COUNT, "x" * 30_000)

    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("key", "stored", "printed"),
    [
        (COUNT, " 007 ", "7"),
        (COUNT, "0", "0"),  # printing does not validate
        (COUNT, "garbage ", "garbage "),
        (COUNT, "99999999999", "99999999999"),
        (TAGS, "a,,z", "a,,z"),
    ],
)
def test_any_stored_value_can_be_printed(key: ConfigKey, stored: str, printed: str) -> None:
    assert normalize(key, stored) == printed
