"""Files that a page, a docstring or a comment names exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "kconf"
_NAMED = re.compile(r"(?<![\w/<*{.-])((?:[\w-]+/)*[\w-]+\.py)(?![\w*])")
_EXAMPLES = frozenset({"path/to/file.py", "a.py", "mine.py", "pyspark_kconf.py"})
"""Names that stand for a file of the reader, of a test, or of the wheel."""


def _texts() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        if name.endswith((".py", ".md")) and not name.startswith(("changes/", "CHANGELOG")):
            yield ROOT / name


def _exists(name: str, mentioned_in: Path) -> bool:
    near = [mentioned_in.parent, *mentioned_in.parent.parents]
    return any((place / name).is_file() for place in (ROOT, SOURCES, *near))


def test_every_named_file_exists() -> None:
    named = {(path, name) for path in _texts() for name in _NAMED.findall(path.read_text()) if name not in _EXAMPLES}
    lost = {f"{path.relative_to(ROOT)}: {name}" for path, name in named if not _exists(name, path)}

    assert len(named) > 200
    assert not lost, "\n".join(sorted(lost))
