"""A text, held against its key: refused with a reason, or printed as a describe prints it."""

from __future__ import annotations

from kconf.configdef.key import ConfigKey
from kconf.configdef.parsing import Value, parse, render
from kconf.configdef.validators import collapse
from kconf.errors import InvalidConfig

_LONGEST_SHOWN = 200  # an answer's message has to fit into the frame, whatever was sent


def check(key: ConfigKey, text: str) -> Value:
    """The value of a text under its key, or `InvalidConfig`."""
    try:
        value = parse(key.type, text)
        test = key.check
        if test is not None:
            if test.distinct:
                value = collapse(value)
            test.test(value)
    except ValueError as error:
        raise InvalidConfig(refusal(key, text, str(error))) from None
    return value


def refusal(key: ConfigKey, text: str, reason: str) -> str:
    """The sentence that refuses a text; of a sensitive key it shows neither the text nor what the reason says of it."""
    if key.sensitive:
        shown, reason = "[hidden]", f"must be {key.check}" if key.check else f"not a {key.type.name}"
    else:
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return f"Invalid value {shown} for configuration {key.name}: {reason}"


def normalised(key: ConfigKey, text: str) -> str:
    """What a describe prints for a stored text. Stored garbage is printed as it is: this never raises."""
    try:
        value = parse(key.type, text)
    except ValueError:
        return text
    if key.check is not None and key.check.distinct:
        value = collapse(value)
    return render(key.type, value)
