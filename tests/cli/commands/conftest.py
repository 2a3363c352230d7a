"""The kconf command on a kconf server, with its own contexts file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands.scenarios import People
from tests.support.process import KconfProcess


@pytest.fixture
def people(server: KconfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    found = People(tmp_path, server.bootstrap)
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found
