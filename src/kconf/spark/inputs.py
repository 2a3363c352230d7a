"""What a run reads (`Sources`), and its optional inputs: declared files, policy, owners, usage. All inputs are checked
before any work starts.

Each has a fingerprint of the bytes that were parsed, by which a run detects changes since the last one. A file is read
only once, so a change during a run is detected by the next run. Spark reads the usage file itself.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Final, NamedTuple

from kconf.configdef.catalog import Catalog, kafka_43
from kconf.engine.declarative.model import Declared
from kconf.engine.declarative.parser import read_declared
from kconf.engine.policy.parser import read_rules
from kconf.engine.policy.rules import Rules
from kconf.engine.policy.selectors import NamePattern
from kconf.errors import ConfigurationError
from kconf.util.mistakes import Mistakes

Owners = Sequence[tuple[NamePattern, str]]
"""Owner patterns; the first match applies."""
_USAGE_COLUMNS = frozenset({"user", "client_id", "key", "rate"})
_PARSED: Final = ("declared", "policy", "owners")
USAGE = "cluster string, user string, client_id string, key string, rate double"


@dataclass(frozen=True)
class Sources:
    """What a run reads: directories of archives, snapshots and metadata logs, and live clusters, each as the options of
    the Spark source."""

    archives: Sequence[str] = ()
    snapshots: Sequence[str] = ()
    clusters: Sequence[dict[str, str]] = ()
    metadata_logs: Sequence[str] = ()


class _File(NamedTuple):
    """A file as it was read."""

    path: Path
    content: bytes

    @property
    def text(self) -> str:
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            raise ConfigurationError(f"{self.path}: not UTF-8 text") from None


@dataclass(frozen=True)
class Inputs:
    """The files, as given on the command line."""

    declared: Sequence[Path] = ()
    policy: Path | None = None
    owners: Path | None = None
    usage: Path | None = None
    catalog: Catalog = field(default_factory=kafka_43)

    @cached_property
    def declarations(self) -> Declared | None:
        """The combined declared state; None: no files."""
        if not self.declared:
            return None
        return read_declared([(str(each.path), each.text) for each in self._files["declared"]], self.catalog.of)

    @cached_property
    def rules(self) -> Rules:
        found = [read_rules(each.text, self.catalog, str(each.path)) for each in self._files["policy"]]
        return found[0] if found else Rules()

    @cached_property
    def owner_map(self) -> Owners:
        """A CSV file of two columns, `topic` (a name, a glob or a /regular expression/) and `owner`."""
        found, mistakes = [], Mistakes()
        lines = [line for each in self._files["owners"] for line in each.text.splitlines()]
        for number, row in enumerate(csv.reader(lines), 1):
            if not row or row[0].startswith("#") or (number == 1 and row[0].strip().lower() == "topic"):
                continue
            with mistakes.collected():
                if len(row) != 2 or not row[0].strip() or not row[1].strip():
                    raise ConfigurationError(f"{self.owners}:{number}: a line must be TOPIC,OWNER")
                found.append((_pattern(row[0].strip(), f"{self.owners}:{number}"), row[1].strip()))
        mistakes.raise_all()
        return found

    def check(self) -> None:
        """Read and check everything before any work is done."""
        _ = self.declarations, self.rules, self.owner_map
        if self.usage is not None and not self.usage.exists():
            raise ConfigurationError(f"{self.usage}: no such file")
        if self.usage is not None and self.usage.is_file() and self.usage.suffix != ".parquet":
            _check_usage(self.usage)
        _ = self.fingerprints

    @cached_property
    def _files(self) -> dict[str, list[_File]]:
        """The files that kconf parses, each read once."""
        return {name: [_read(path) for path in self._paths(name)] for name in _PARSED}

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of the files as they were read; that of the usage file is taken before Spark reads it."""
        usage = [_read(each) for path in self._paths("usage") for each in _files_of(path)]
        return {name: _fingerprint(files) for name, files in {**self._files, "usage": usage}.items()}

    def changed(self) -> list[str]:
        """The inputs whose files have changed since they were read."""
        try:
            now = replace(self).fingerprints
        except ConfigurationError:  # deleted, for example
            return list(self.fingerprints)
        return [name for name, each in self.fingerprints.items() if each != now[name]]

    def _paths(self, name: str) -> list[Path]:
        if name == "declared":
            return [each for path in self.declared for each in _yaml_files(path)]
        path: Path | None = getattr(self, name)
        return [path] if path is not None else []


def _yaml_files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml") and each.is_file())
    return [path]


def _files_of(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def _read(path: Path) -> _File:
    try:
        return _File(path, path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None


def _pattern(text: str, place: str) -> NamePattern:
    pattern = NamePattern(text)
    try:
        pattern.compiled()
    except ValueError as error:
        raise ConfigurationError(f"{place}: the pattern {text} {error}") from None
    return pattern


def _check_usage(path: Path) -> None:
    """Report every invalid line of a CSV file, before Spark fails on the first."""
    mistakes = Mistakes()
    lines = csv.reader(_read(path).text.splitlines())
    header = next(lines, [])
    if not set(header) >= _USAGE_COLUMNS:
        raise ConfigurationError(f"{path}: expected the columns cluster (optional), user, client_id, key, rate")
    for cells in lines:
        place = f"{path}:{lines.line_num}"
        if cells and len(cells) != len(header):
            mistakes.add(f"{place}: {len(cells)} cells, but the first line has {len(header)}")
        elif cells and not _is_number(dict(zip(header, cells, strict=True))["rate"]):
            mistakes.add(f"{place}: the rate is not a number")
    mistakes.raise_all()


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _fingerprint(files: Iterable[_File]) -> str:
    whole = hashlib.sha256()
    for path, content in files:
        whole.update(str(path).encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]
