"""Parses, validates and normalizes values by the definition of their key. Error messages have Kafka's format."""

from __future__ import annotations

from kconf.configdef.java.parsing import Value, parse, render
from kconf.configdef.key import ConfigKey
from kconf.configdef.validators import collapse
from kconf.errors import InvalidConfig

_LONGEST_SHOWN = 200  # the message must fit into the response


def validate(key: ConfigKey, text: str) -> Value:
    """Parse and validate a value. Raises InvalidConfig."""
    try:
        value = parse(key.type, text)
        validator = key.validator
        if validator is not None:
            if validator.distinct:
                value = collapse(value)
            validator.test(value)
    except ValueError as error:
        raise InvalidConfig(invalid_value_message(key, text, str(error))) from None
    return value


def invalid_value_message(key: ConfigKey, text: str, reason: str) -> str:
    """The message "Invalid value … for configuration …: must be at least 1".

    For a sensitive key, it contains neither the value nor the reason, which may contain the value.
    """
    if key.sensitive:
        shown, reason = "[hidden]", f"must be {key.validator}" if key.validator else f"not a {key.type.name}"
    else:
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return f"Invalid value {shown} for configuration {key.name}: {reason}"


def invalid_in_file_message(text: str, name: str, reason: object) -> str:
    """The message for a value in a declared file or a policy, where the place is known and values are not secret."""
    return f"{text!r} is not a valid value of {name}: {reason}"


def normalize(key: ConfigKey, text: str) -> str:
    """A stored value as shown in a describe. Never raises: an invalid value is returned unchanged."""
    try:
        value = parse(key.type, text)
    except ValueError:
        return text
    if key.validator is not None and key.validator.distinct:
        value = collapse(value)
    return render(key.type, value)
