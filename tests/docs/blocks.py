"""The commands and files of a documentation page, in order.

    ```sh                     commands; all must succeed
    ```console                `$ command` lines, each followed by what it prints; `# exit 3` after one: its status
    ```python                 a program of its own
    ```yaml title="a.yaml"    a file of that name (any language but those above)
    <!-- run … -->            commands that a reader need not see
    <!-- with: kafka -->      what the page needs: `server` (the default), `kafka`, `zookeeper`, `nothing`

In output, `…` within a line matches any text, and a line `…` any number of lines. Times, IDs and durations may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^(?P=indent)```$"
    r"|^<!-- run\n(?P<hidden>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
_NEED = re.compile(r"^<!-- with: (\w+) -->$", re.MULTILINE)
_EXIT = re.compile(r"\s+# exit (\d+)$")


@dataclass(frozen=True)
class Block:
    """Commands to run, or a file to write."""

    language: str
    text: str
    title: str | None
    line: int


@dataclass(frozen=True)
class Step:
    """One command of a console, what it prints, and its exit status."""

    command: str
    expected: list[str]
    status: int


@dataclass(frozen=True)
class Page:
    path: Path
    needs: str
    blocks: list[Block]

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))


def read_page(path: Path) -> Page:
    text = path.read_text()
    found = _NEED.search(text)
    return Page(path, found[1] if found else "server", list(_blocks(text)))


def pages() -> list[Page]:
    """All pages that have something to run."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in map(read_page, paths) if any(block.language in RUN for block in page.blocks)]


RUN = ("sh", "console", "python")


def _blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["hidden"] is not None:
            yield Block("sh", found["hidden"], None, line)
        else:
            indent = len(found["indent"])
            body = "".join(each[indent:] or "\n" for each in found["text"].splitlines(keepends=True))
            yield Block(found["language"], body, found["title"], line)


def steps(console: str) -> Iterator[Step]:
    """The commands of a console block. A backslash continues a line."""
    command, expected = "", list[str]()
    open_line = False
    for line in console.splitlines():
        if open_line:
            command += "\n" + line
        elif line.startswith("$ "):
            if command:
                yield _step(command, expected)
            command, expected = line[2:], []
        else:
            expected.append(line)
            continue
        open_line = line.endswith("\\")
    if command:
        yield _step(command, expected)


def _step(command: str, expected: list[str]) -> Step:
    found = _EXIT.search(command)
    while expected and not expected[-1].strip():
        expected = expected[:-1]
    return Step(_EXIT.sub("", command), expected, int(found[1]) if found else 0)


_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?![\w-])"), "<id>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d+(\.\d+)? ?m?s\b"), "<duration>"),
    (re.compile(r"kconf \d+\.\d+\.\S+"), "kconf <version>"),
    (re.compile(r"[─━]+"), "─"),
    (re.compile(r" +"), " "),
)


def differences(expected: list[str], printed: str) -> list[str]:
    """The expected lines that were not printed, in order."""
    lines = [_plain(each) for each in printed.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    if _matches([_plain(each) for each in expected], lines):
        return []
    return [f"expected: {each}" for each in expected] + [f"printed:  {each}" for each in printed.splitlines()]


def _matches(expected: list[str], lines: list[str]) -> bool:
    if not expected:
        return not lines
    if expected[0] == "…":
        return any(_matches(expected[1:], lines[place:]) for place in range(len(lines) + 1))
    return bool(lines) and _like(expected[0], lines[0]) and _matches(expected[1:], lines[1:])


def _like(expected: str, line: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), line) is not None


def _plain(line: str) -> str:
    for pattern, word in _CHANGING:
        line = pattern.sub(word, line)
    return line.strip()
