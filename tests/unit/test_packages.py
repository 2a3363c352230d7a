"""Packages stay small, so that a folder listing shows the architecture."""

from pathlib import Path

import kconf

ROOT = Path(kconf.__file__).parent
LIMIT = 15
LONGER = {"protocol/messages", "server/api", "cli/commands", "store/zookeeper"}
"""Packages with one module per API, command or znode family."""


def modules(package: Path) -> int:
    return sum(1 for file in package.glob("*.py") if file.name != "__init__.py")


def test_no_package_has_more_than_fifteen_modules() -> None:
    sizes = {str(init.parent.relative_to(ROOT)): modules(init.parent) for init in ROOT.rglob("__init__.py")}
    assert len(sizes) > 40
    assert {name: size for name, size in sizes.items() if size > LIMIT and name not in LONGER} == {}
