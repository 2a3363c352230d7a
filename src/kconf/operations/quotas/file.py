"""Quotas in files: what `kconf quota export` writes and `kconf quota load` reads.

YAML is the section `quotas:` of declarative files; CSV has a line for each entity. Both name the entity like the
options: `user`, `client-id`, `ip`, or `user-default: true` and so on. The quotas follow by name, in YAML under
`limits:`. `none` removes a quota; an empty cell does not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import ConfigurationError
from kconf.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from kconf.util.mistakes import Mistakes
from kconf.util.yaml.reader import YamlNode, compose
from kconf.util.yaml.writer import Flow, YamlValue, to_yaml

if TYPE_CHECKING:
    from kconf.engine.quotas.precedence import Stored

KINDS: Final = (USER, CLIENT_ID, IP)
WHO: Final = tuple(name for kind in KINDS for name in (kind, f"{kind}-default"))
KEYS: Final = (
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"),
    "connection_creation_rate",
)
NONE: Final = "none"


class QuotaFileRow(NamedTuple):
    """The quotas of one entity in a file; None removes."""

    line: int
    entity: QuotaEntity
    changes: Mapping[str, float | None]


ReadText = Callable[[], str]
"""Reads the file `-`: standard input."""


def read_quotas(path: str, kind: str | None, stdin: ReadText | None = None) -> list[QuotaFileRow]:
    """All rows; raises ConfigurationError with every invalid line."""
    text, mistakes = _text(path, stdin), Mistakes()
    rows: Iterable[tuple[int, Mapping[str, str | None]]]
    is_csv = file_kind(path, kind) == "csv"
    rows = _csv_rows(path, text, (*WHO, *KEYS), mistakes) if is_csv else _yaml_rows(path, text, mistakes)
    found: dict[QuotaEntity, QuotaFileRow] = {}
    for line, cells in rows:
        with mistakes.collected():
            row = _row(path, line, cells)
            first = found.setdefault(row.entity, row)
            if first is not row:
                raise ConfigurationError(f"{path} lines {first.line} and {line} set quotas for the same entity")
    mistakes.raise_all()
    if not found:
        raise ConfigurationError(f"no quotas in {path}")
    return list(found.values())


def file_kind(path: str, kind: str | None) -> str:
    return kind or ("csv" if path.lower().endswith(".csv") else "yaml")


def _row(path: str, line: int, cells: Mapping[str, str | None]) -> QuotaFileRow:
    from kconf.operations.quotas.changes import parse_quota

    parts: dict[str, str | None] = {}
    try:
        if any(cells.get(name) is None for name in cells if name in WHO):
            raise ConfigurationError("a name is missing; for a default, use `user-default: true`")
        for kind in KINDS:
            if cells.get(kind):
                parts[kind] = cells[kind]
            if _is_true(f"{kind}-default", cells.get(f"{kind}-default")):
                if kind in parts:
                    raise ConfigurationError(f"{kind} and {kind}-default cannot be in one row")
                parts[kind] = None
        if not parts:
            raise ConfigurationError("a row needs a user, a client-id, an ip, or one of their defaults")
        entity = QuotaEntity.of(parts)
        wanted = {key: NONE if text is None else text for key, text in cells.items() if key not in WHO and text != ""}
        if not wanted:
            raise ConfigurationError("a row needs a quota")
        return QuotaFileRow(line, entity, {key: parse_quota(entity, key, text) for key, text in wanted.items()})
    except ConfigurationError as error:
        raise ConfigurationError(f"{path} line {line}: {error}") from None


def _is_true(name: str, text: str | None) -> bool:
    text = text or ""
    if text.lower() not in ("", "true", "false"):
        raise ConfigurationError(f"{name} must be true or false, not {text!r}")
    return text.lower() == "true"


# -- reading ---------------------------------------------------------------------------------------------------------


def _text(path: str, stdin: ReadText | None) -> str:
    try:
        if path == "-" and stdin is not None:
            return stdin()
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"{path} cannot be read: {reason}") from None


def read_pairs(path: str, stdin: ReadText | None = None) -> list[tuple[str, str]]:
    """Pairs of user and client ID from a CSV file; one of the two may be empty."""
    mistakes, found = Mistakes(), []
    for line, row in _csv_rows(path, _text(path, stdin), ("user", "client-id"), mistakes):
        user, client_id = row.get("user", ""), row.get("client-id", "")
        if not user and not client_id:
            mistakes.add(f"{path} line {line} has neither a user nor a client ID")
        found.append((user, client_id))
    mistakes.raise_all()
    return found


def _csv_rows(
    path: str, text: str, columns: Collection[str], mistakes: Mistakes
) -> Iterator[tuple[int, dict[str, str]]]:
    """The cells of each line, with its number. The first line has the column names."""
    import csv
    from io import StringIO

    lines = csv.reader(StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    while True:
        try:
            cells = next(lines, None)
        except csv.Error as error:
            mistakes.add(f"{path} line {lines.line_num} is not CSV: {error}")
            continue
        if header is None:
            mistakes.raise_all()
            header = [each.strip() for each in cells or []]
            _check_header(path, header, columns)
        elif cells is None:
            return
        elif cells and len(cells) != len(header):
            counts = f"{len(cells)} cells, but the first line has {len(header)}"
            mistakes.add(f"{path} line {lines.line_num} has {counts}")
        elif cells:
            yield lines.line_num, dict(zip(header, cells, strict=True))


def _check_header(path: str, header: Sequence[str], columns: Collection[str]) -> None:
    """Check the column names. If they are wrong, no other line is checked."""
    if not header:
        raise ConfigurationError(f"{path} is empty; the first line must name the columns")
    mistakes = Mistakes()
    for each in dict.fromkeys(header):
        if each not in columns:
            mistakes.add(f"{path} line 1: unknown column {each!r}; use {', '.join(columns)}")
        elif header.count(each) > 1:
            mistakes.add(f"{path} line 1 has the column {each!r} twice")
    mistakes.raise_all()


def _yaml_rows(path: str, text: str, mistakes: Mistakes) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Values as strings, so that a user named 007 is not read as a number; None if there is no value."""
    root = compose(text, path)
    top = _pairs(path, root) if root is not None else {}
    if set(top) != {"quotas"} or top["quotas"].id != "sequence":
        raise ConfigurationError(f"{path} must contain a list under `quotas:` and nothing else")
    for node in top["quotas"].value:
        with mistakes.collected():
            yield node.start_mark.line + 1, _yaml_cells(path, node)


def _yaml_cells(path: str, node: YamlNode) -> dict[str, str | None]:
    cells = _pairs(path, node)
    limits = cells.pop("limits", None)
    for name in cells:
        if name not in WHO:
            place = f"{path} line {node.start_mark.line + 1}"
            raise ConfigurationError(f"{place}: {name!r} is not one of {', '.join(WHO)}, limits")
    whole = {**cells, **(_pairs(path, limits) if limits is not None else {})}
    return {key: _scalar(path, each) for key, each in whole.items()}


def _pairs(path: str, node: YamlNode) -> dict[str, YamlNode]:
    if node.id != "mapping":
        raise ConfigurationError(f"{path} line {node.start_mark.line + 1}: expected names and values here")
    found: dict[str, YamlNode] = {}
    for key, value in node.value:
        name = _scalar(path, key) or ""
        if name in found:
            raise ConfigurationError(f"{path} line {key.start_mark.line + 1} has {name} twice")
        found[name] = value
    return found


def _scalar(path: str, node: YamlNode) -> str | None:
    if node.id != "scalar":
        raise ConfigurationError(f"{path} line {node.start_mark.line + 1}: expected a single value here")
    return None if node.is_null else str(node.value)


# -- writing ---------------------------------------------------------------------------------------------------------


def as_yaml(stored: Stored) -> str:
    quotas: list[YamlValue] = []
    for row in _rows(stored):
        who: dict[str, YamlValue] = {name: row[name] if name in KINDS else True for name in WHO if name in row}
        quotas.append({**who, "limits": Flow({key: row[key] for key in KEYS if key in row})})
    return to_yaml({"quotas": quotas})


def as_csv(stored: Stored) -> str:
    import csv
    from io import StringIO

    rows = list(_rows(stored))
    used = {name for row in rows for name in row}
    columns = [each for each in (*WHO, *KEYS) if each in used] or [*WHO, *KEYS]
    out = StringIO()
    odd = any("\r" in text for row in rows for text in row.values())  # which Python does not quote by itself
    writer = csv.DictWriter(
        out, columns, restval="", lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rows(stored: Stored) -> Iterable[dict[str, str]]:
    from kconf.operations.quotas.entities import quota_number

    for entity, quotas in stored.items():
        parts = dict(entity.parts)
        row: dict[str, str] = {}
        for kind in KINDS:
            if kind in parts:
                name = parts[kind]
                row.update({f"{kind}-default": "true"} if name is None else {kind: name})
        limits = {key: quota_number(quotas[key]) for key in KEYS if isfinite(quotas.get(key, inf))}
        if limits:
            yield {**row, **limits}


def not_loadable(stored: Stored) -> list[str]:
    """Quotas that a broker may have but that cannot be loaded: NaN and Infinity."""
    return [
        f"{key} of {entity} is {value}"
        for entity, quotas in stored.items()
        for key, value in quotas.items()
        if not isfinite(value)
    ]
