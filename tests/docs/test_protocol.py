"""docs/protocol.md: the cited tests exist, the table matches the code, and links work."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs import protocol_table

ROOT = Path(__file__).parents[2]
PAGE = protocol_table.PAGE.read_text("utf-8")
_HEAD = re.compile(r"Tests: `(tests/[\w/.]+)`")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)?::(\w+)`")


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    nodes = [each for node in tree.body for each in (node.body if isinstance(node, ast.ClassDef) else [node])]
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def named() -> list[tuple[str, str]]:
    """(file, test) for every test that the page names; without a path it is in the file at the head of the section."""
    found, file = [], ""
    for line in PAGE.splitlines():
        if head := _HEAD.search(line):
            file = head[1]
        found += [(path or file, name) for path, name in _NAMED.findall(line)]
    return found


def test_every_test_that_the_page_names_exists() -> None:
    cited = named()
    missing = [f"{path}::{name}" for path, name in cited if name not in functions_of(path)]

    assert len(cited) > 200
    assert missing == []
    assert [f"{path}::{name}" for path, name in cited if not name.startswith("test_")] == []


def test_every_citation_has_the_form_that_is_checked() -> None:
    """`path::name` or `::name`, so that none is left unchecked; files and folders of tests exist too."""
    quoted = re.findall(r"`([^`\n]+)`", PAGE)
    paths = {each.partition("::")[0] for each in quoted if each.startswith("tests/")}

    assert [each for each in quoted if "::" in each and not _NAMED.fullmatch(f"`{each}`")] == []
    assert [each for each in sorted(paths) if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("path", sorted(each.name for each in (ROOT / "tests/kips").glob("test_*.py")))
def test_every_test_of_a_kip_is_on_the_page(path: str) -> None:
    own = {name for name in functions_of(f"tests/kips/{path}") if name.startswith("test_")}

    assert own - {name for _, name in named()} == set()


def rows_of(table: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "]
    return [row for row in rows if row[0] != "section"]


def test_every_sentence_of_every_kip_has_a_status_and_a_test() -> None:
    tables = PAGE.partition("## The KIPs, sentence by sentence")[2].split("\n### ")[1:]
    told = [row for table in tables for row in rows_of(table)]

    assert [title.partition(",")[0] for title in tables] == ["KIP-21", "KIP-133", "KIP-248", "KIP-339", "KIP-525"]
    assert len(told) > 150
    assert all(len({tuple(row[:2]) for row in rows_of(table)}) == len(rows_of(table)) for table in tables)
    assert [row for row in told if len(row) != 4 or not _NAMED.search(row[3])] == []
    assert [row for row in told if not re.match(r"(done|as Kafka|partly|not done)\b", row[2])] == []


@pytest.mark.parametrize("part", protocol_table.PARTS)
def test_generated_pages_match_the_code(part: str) -> None:
    assert protocol_table.written(part) == protocol_table.PARTS[part](), "run: python -m tests.docs.protocol_table"


def test_every_link_has_a_target() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)

    assert len(links) > 10
    assert [link for link in links if not _exists(link)] == []


def _exists(link: str) -> bool:
    """Whether the page of a link exists, and has the heading that it names."""
    path, _, anchor = link.partition("#")
    page = ROOT / "docs" / (path or "protocol.md")
    if not anchor:
        return page.exists()
    lines = page.read_text("utf-8").splitlines() if page.is_file() else []
    return anchor in {_anchor(line.lstrip("# ")) for line in lines if line.startswith("#")}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-")
