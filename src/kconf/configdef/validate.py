"""A text against the definition of its key: parsed and validated, refused with a message in Kafka's form, or normalized."""

from __future__ import annotations

from kconf.configdef.java.parsing import Value, parse, render
from kconf.configdef.key import ConfigKey
from kconf.configdef.validators import collapse
from kconf.errors import InvalidConfig

_LONGEST_SHOWN = 200  # the message has to fit into the response, whatever was sent


def validate(key: ConfigKey, text: str) -> Value:
    """The value of a text under its key, or `InvalidConfig`."""
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
    """The sentence "Invalid value … for configuration …: must be at least 1".

    Of a sensitive key it shows neither the text nor the reason, which may quote it.
    """
    if key.sensitive:
        shown, reason = "[hidden]", f"must be {key.validator}" if key.validator else f"not a {key.type.name}"
    else:
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return f"Invalid value {shown} for configuration {key.name}: {reason}"


def normalize(key: ConfigKey, text: str) -> str:
    """What a describe prints for a stored text. An invalid stored text is printed as it is: this never raises."""
    try:
        value = parse(key.type, text)
    except ValueError:
        return text
    if key.validator is not None and key.validator.distinct:
        value = collapse(value)
    return render(key.type, value)
