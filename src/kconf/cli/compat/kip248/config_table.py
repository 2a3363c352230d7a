"""KIP-248's table: name = value, sensitive, read-only, source. Long values continue below, in their column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kconf.model.entry import Entry, Source
from kconf.model.quota import QuotaSource

_NAME, _VALUE, _SENSITIVE, _READ_ONLY, _HEADING = 60, 70, 10, 11, 115

SOURCES: Final = {
    Source.UNKNOWN: "Unknown",
    Source.TOPIC: "Dynamic topic config",
    Source.BROKER: "Dynamic broker config",
    Source.DEFAULT_BROKER: "Dynamic default broker config",
    Source.STATIC: "Static broker config",
    Source.DEFAULT: "Default config",
    Source.LOGGER: "Dynamic broker logger config",
    Source.CLIENT_METRICS: "Dynamic client metrics config",
    Source.GROUP: "Dynamic group config",
}
QUOTA_SOURCES: Final = {
    QuotaSource.CLIENT_IN_USER: "Client of user",
    QuotaSource.DEFAULT_CLIENT_IN_USER: "Default client of user",
    QuotaSource.USER: "User",
    QuotaSource.CLIENT_IN_DEFAULT_USER: "Client of default user",
    QuotaSource.DEFAULT_CLIENT_IN_DEFAULT_USER: "Default client of default user",
    QuotaSource.DEFAULT_USER: "Default user",
    QuotaSource.CLIENT: "Client",
    QuotaSource.DEFAULT_CLIENT: "Default client",
}


class ConfigRow(NamedTuple):
    name: str
    value: str
    sensitive: bool
    read_only: bool
    source: str

    @classmethod
    def of(cls, entry: Entry) -> ConfigRow:
        hidden = "[hidden]" if entry.sensitive else ""
        value = hidden if entry.value is None else entry.value
        return cls(entry.name, value, entry.sensitive, entry.read_only, SOURCES[entry.source])


def table(what: str, name: str, rows: Iterable[ConfigRow]) -> Iterator[str]:
    """The lines of `CONFIGS FOR <what> <name>`."""
    yield ""
    yield f"{'CONFIGS FOR ' + what:>{_HEADING}} {name}".rstrip()
    yield ""
    yield _line("Name", "   ", "Value", "Sensitive", "Read-only", "Source")
    for row in rows:
        first, rest = row.value[:_VALUE], row.value[_VALUE:]
        yield _line(row.name, " = ", first, _word(row.sensitive), _word(row.read_only), row.source)
        while rest:
            yield " " * (_NAME + 3) + rest[:_VALUE]
            rest = rest[_VALUE:]


def _line(name: str, sign: str, value: str, sensitive: str, read_only: str, source: str) -> str:
    cells = f"{name:>{_NAME}}{sign}{value:<{_VALUE}}{sensitive:<{_SENSITIVE}}{read_only:<{_READ_ONLY}}{source}"
    return cells.rstrip()


def _word(flag: bool) -> str:
    return "true" if flag else "false"
