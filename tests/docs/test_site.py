"""`make docs`: every page is in the site, and every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    pages = {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if not (tmp_path / page).exists()} == set()
    shown = re.findall(r'<a href="([^"]+\.html)" class="md-nav__link', (tmp_path / "index.html").read_text())
    assert shown.index("tutorial.html") < shown.index("how-to/contexts.html") < shown.index("reference/cli.html")
    assert shown[-1].startswith("decisions/")
    assert pages - set(shown) - {"index.html"} == set()


def test_every_link_of_the_readme_has_a_target() -> None:
    links = _links(ROOT / "README.md") | _links(ROOT / "CONTRIBUTING.md")

    assert len(links) > 10
    assert {link for link in links if not (ROOT / link.partition("#")[0]).exists()} == set()


def _links(page: Path) -> set[str]:
    parts = page.read_text().split("](")[1:]
    return {link for part in parts if not (link := part.partition(")")[0]).startswith(("http", "#"))}
