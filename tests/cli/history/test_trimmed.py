"""A trimmed journal: the rest is shown, and a rollback to an unknown time is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.store.registry import open_store
from tests.cli.commands.scenarios import People
from tests.support.process import KconfProcess


def test_a_rollback_to_a_time_before_the_journal_begins_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KconfProcess() as server:
        people = People(tmp_path, server.bootstrap)
        monkeypatch.setenv("KCONF_CONFIG", str(people.config))
        people.topics("t")
        for hours in range(1, 10):
            people(f"set topic:t segment.ms={hours}h")
        server.stop()
        store = open_store(server.store)
        while store.trim(keep_last=3):
            pass
        store.close()
        server.start()

        told = people.whole("history topic:t")
        assert [each["after"] for each in told["items"]] == ["25200000", "28800000", "32400000"]
        assert told["notes"] == ["the journal begins at revision 8"]
        for line in ("rollback topic:t --to 3 --yes", "rollback topic:t --to 1h --yes", "diff topic:t --from 1h"):
            assert "earlier changes are not available" in people.whole(line, status=2)["message"]
        people("rollback topic:t --to 8 --yes")
        assert people.overrides("topic:t") == {"segment.ms": "25200000"}
