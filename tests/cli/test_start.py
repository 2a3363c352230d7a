"""Fast commands do not import slow modules. bench/cli.py measures the times."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kconf import NewTopic, SyncAdminClient
from tests.support.process import KconfProcess

HEAVY = (
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "logging",
    "json",
    "ssl",
    "uuid",
    "kconf.configdef",
    "kconf.engine",
)
_PROGRAM = """
import sys
from kconf.cli.compat.kafka_configs.main import main
status = main(sys.argv[1:])
print("LOADED", *sys.modules)
sys.exit(status)
"""


@pytest.mark.parametrize("line", ["--describe --topic quick", "--alter --topic quick --add-config segment.ms=60000"])
def test_frequent_commands_import_no_slow_modules(server: KconfProcess, admin: SyncAdminClient, line: str) -> None:
    if "quick" not in admin.list_topics():
        admin.create_topics([NewTopic("quick", 1, 1)]).raise_for_failures()
    words = ["--bootstrap-server", server.bootstrap, *line.split()]
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *words], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED ")[2].split())

    assert loaded.isdisjoint(HEAVY)
