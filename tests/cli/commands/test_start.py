"""`kconf describe topic:x` must start quickly: it imports nothing heavy. bench/commands.py measures the time."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.commands.scenarios import People, a_name

HEAVY = {
    "asyncio",
    "ssl",
    "rich",
    "kazoo",
    "pyspark",
    "kconf.engine.configs.resolver",
    "kconf.server",
    "sqlite3",
    "difflib",
    "csv",
}
_PROGRAM = """
import sys
from kconf.cli.main import main
status = main(sys.argv[1:])
print("LOADED", *sys.modules)
sys.exit(status)
"""


def loaded(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED ")[2].split())


def test_frequent_commands_import_no_slow_modules(people: People) -> None:
    name = a_name()
    people.topics(name)

    described = loaded("describe", f"topic:{name}", "-b", people.bootstrap)
    changed = loaded("set", f"topic:{name}", "segment.ms=1h", "-b", people.bootstrap)

    assert described & (HEAVY | {"yaml", "json"}) == set()
    assert changed & (HEAVY | {"yaml"}) == set()
    assert loaded("describe", f"topic:{name}") & HEAVY == set()
