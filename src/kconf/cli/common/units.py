"""Values as people write and read them: `7d`, `1GiB`. The wire, JSON and CSV have them raw.

What is shown reads back as the same value: only whole multiples get a unit. The reader is that of rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from kconf.configdef.parsing import InvalidValue, render
from kconf.configdef.units import FOLLOWS, NUMBERS, UNLIMITED, read_amount, unit_of
from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType

if TYPE_CHECKING:
    from kconf.configdef.key import ConfigKey

_TIMES: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_SIZES: Final = (
    *((f"{prefix}iB", 1024**power) for power, prefix in ((4, "T"), (3, "G"), (2, "M"), (1, "K"))),
    *((f"{prefix}B", 1000**power) for power, prefix in ((4, "T"), (3, "G"), (2, "M"))),
)


@cache
def keys_for(kind: ResourceType) -> Mapping[str, ConfigKey]:
    """The catalog's keys for a type of resource, those of 3.9 included; loaded for that type alone."""
    match kind:
        case ResourceType.TOPIC:
            from kconf.configdef.topic import TOPIC, TOPIC_39

            return {**TOPIC_39, **TOPIC}
        case ResourceType.BROKER:
            from kconf.configdef.broker import BROKER, BROKER_39

            return {**BROKER_39, **BROKER}
        case ResourceType.GROUP:
            from kconf.configdef.group import GROUP

            return GROUP
        case ResourceType.CLIENT_METRICS:
            from kconf.configdef.client_metrics import CLIENT_METRICS

            return CLIENT_METRICS
        case ResourceType.QUOTA:
            from kconf.configdef.quota import IP_QUOTA, USER_QUOTA

            return {**USER_QUOTA, **IP_QUOTA}
        case _:
            return {}


def raw_value(key: ConfigKey | None, text: str) -> str:
    """What a person wrote, as the wire has it. A key that is not in the catalog is for the server to judge."""
    if key is None or key.type not in NUMBERS:
        return text
    if not any(character.isalpha() for character in text):
        return text
    if text.strip() == _as_another(key.name):
        return "-2"
    if not _is_amount(text) and text.strip() != "unlimited":
        raise ConfigurationError(f"{key.name}: {text!r} is no number{_units_of(key.name)}")
    try:
        return render(key.type, read_amount(key, text))
    except InvalidValue as error:
        said = str(error)
        raise ConfigurationError(said if key.name in said else f"{key.name}: {said}") from None


def _is_amount(text: str) -> bool:
    """Whether it could be a number with a unit: `1MB/s` could not."""
    return any(each.isdigit() for each in text) and all(each.isalnum() or each in " ._+-" for each in text)


def _units_of(name: str) -> str:
    match unit_of(name):
        case ("time", _):
            return "; write such as 7d, 12h or 500ms"
        case ("size", _):
            return "; write such as 1GiB or 500kB"
        case _:
            return ""


def shown_value(name: str, raw: str | None) -> str:
    """A value for a table. What is not set is empty."""
    if raw is None:
        return ""
    unit = unit_of(name)
    if unit is None or not raw.lstrip("-").isdigit():
        return raw
    number = int(raw)
    if number <= 0:
        return _special(name, number, raw)
    kind, one = unit
    if kind == "size":
        return next((f"{number // each}{word}" for word, each in _SIZES if number % each == 0), raw)
    if number >= 2**53:  # Java's greatest number stands for never
        return raw
    number *= one
    return next(f"{number // each}{word}" for word, each in _TIMES if number % each == 0)


def _special(name: str, number: int, raw: str) -> str:
    if number == -1 and name in UNLIMITED:
        return "unlimited"
    if number == -2 and name in FOLLOWS:
        return _as_another(name)
    return raw


def _as_another(name: str) -> str:
    return f"as {FOLLOWS.get(name, '')}"
