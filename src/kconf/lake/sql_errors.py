"""Converts DuckDB's errors to one sentence: what is wrong with the query, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from kconf.errors import ConfigurationError, KconfError
from kconf.lake.storage.location import LakeError

_TABLE: Final = re.compile(r"Table with name (.+?) does not exist")
_COLUMN: Final = re.compile(r'(?:Referenced column|column named) "(.+?)"')
_CANDIDATES: Final = re.compile(r"Candidate bindings: (.+)")
_QUOTED: Final = re.compile(r'"([^"]+)"')
_SYNTAX: Final = re.compile(r'syntax error at or near "(.+?)"')
_NO_FILES: Final = re.compile(r"disabled by configuration|external access|Permission Error", re.IGNORECASE)


def query_error(error: Exception, tables: Mapping[str, Sequence[str]], memory: str) -> KconfError:
    """The error to raise for an error of DuckDB: ConfigurationError if the query is wrong.

    `tables` are the tables of the lake with their columns.
    """
    text = str(error)
    name = type(error).__name__
    if name == "OutOfMemoryException":
        return LakeError(f"the query needs more than {memory} of memory; select fewer rows, or raise --memory")
    if name in ("IOException", "HTTPException") and not _NO_FILES.search(text):
        return LakeError(f"the lake cannot be read: {_root(text)}")
    return ConfigurationError(_sentence(text, tables))


def _sentence(text: str, tables: Mapping[str, Sequence[str]]) -> str:
    if _NO_FILES.search(text):
        return "SQL can read only the tables of the lake, not files or other places"
    if found := _TABLE.search(text):
        return _unknown_table(found[1], list(tables))
    if found := _COLUMN.search(text):
        return _unknown_column(found[1], text, {each for names in tables.values() for each in names})
    if found := _SYNTAX.search(text):
        return f'SQL syntax error at or near "{found[1]}"'
    return f"the query failed: {_root(text)}"


def _unknown_table(name: str, tables: Sequence[str]) -> str:
    near = get_close_matches(name.rpartition(".")[2].strip('"').lower(), tables, 1)
    if near:
        return f"unknown table {name}; did you mean {near[0]}?"
    return f"unknown table {name}; the lake has {', '.join(sorted(tables))}"


def _unknown_column(name: str, text: str, every: Collection[str]) -> str:
    candidates = _CANDIDATES.search(text)
    columns = [each.rpartition(".")[2] for each in _QUOTED.findall(candidates[1])] if candidates else []
    near = get_close_matches(name.lower(), columns, 1, 0.5) or get_close_matches(name.lower(), every, 1)
    if near:
        return f"unknown column {name}; did you mean {near[0]}?"
    return f"unknown column {name}" + (f"; columns are {', '.join(columns)}" if columns else "")


def _root(text: str) -> str:
    """DuckDB's message without its error class, its hints and the position in the text."""
    message = " ".join(line.strip() for line in text.split("\n\nLINE ")[0].splitlines() if line.strip())
    return re.sub(r"^(?:\w+ )+Error: ", "", message).rstrip("!") or "no reason given"
