"""Packages stay small, so that a folder listing shows the architecture; imports have no cycles; a name stands for one
concept.
"""

import ast
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import kconf

ROOT = Path(kconf.__file__).parent
LIMIT = 15
LONGER = {"protocol/messages", "server/api", "cli/commands", "store/zookeeper"}
"""Packages with one module per API, command or znode family."""

SAME_CONCEPT = {"Follow", "Watch"}
"""Classes of the AdminClient and their counterparts of the SyncAdminClient."""


def modules(package: Path) -> int:
    return sum(1 for file in package.glob("*.py") if file.name != "__init__.py")


def test_no_package_has_more_than_fifteen_modules() -> None:
    sizes = {str(init.parent.relative_to(ROOT)): modules(init.parent) for init in ROOT.rglob("__init__.py")}
    assert len(sizes) > 40
    assert {name: size for name, size in sizes.items() if size > LIMIT and name not in LONGER} == {}


def test_imports_have_no_cycles() -> None:
    """Imports for types and inside of functions count too."""
    graph = grimp.build_graph("kconf", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert sum(map(len, imports.values())) > 4000
    TopologicalSorter(imports).prepare()  # raises CycleError


def test_class_names_are_unique_except_listed_ones() -> None:
    """The structs of Kafka's messages have the names of Kafka's schemas, which are unique within one message."""
    messages = ROOT / "protocol" / "messages"
    names = Counter(name for file in ROOT.rglob("*.py") if messages not in file.parents for name in classes(file))
    names.update({name for file in messages.glob("*.py") for name in classes(file)})
    assert len(names) > 1000
    assert {name for name, count in names.items() if count > 1} == SAME_CONCEPT


def classes(file: Path) -> list[str]:
    return [each.name for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.ClassDef)]
