"""journal.retention: what is trimmed, what stays, and the error for a reader that is too far behind."""

from __future__ import annotations

import pytest

from kconf.protocol.messages.describe_configs_at import ResourceAt
from kconf.store.registry import open_store
from tests.feed.reading import changes, metric, set_key, until
from tests.support.admin import TOPIC, Admin
from tests.support.process import KconfProcess


def fill(server: KconfProcess, revisions: int = 20) -> None:
    with Admin(server.bootstrap) as admin:
        admin.create("t")
        for n in range(revisions - 1):
            assert set_key(admin, "t", str(1000 + n)) == 0


def test_a_reader_behind_the_oldest_revision_gets_an_error_with_that_revision(own_server: KconfProcess) -> None:
    """JournalTrimmed: OFFSET_OUT_OF_RANGE, with the oldest and the current revision."""
    fill(own_server)
    own_server.stop()
    store = open_store(own_server.store)
    while store.trim(keep_last=5):
        pass
    store.close()
    own_server.start()

    with Admin(own_server.bootstrap) as admin:
        behind = changes(admin, 14, wait=5000)
        assert (behind.error_code, behind.oldest, behind.current) == (1, 16, 20)
        assert (list(behind.revisions), behind.next_after) == ([], 14)
        on = changes(admin, 15)
        assert (on.error_code, on.oldest) == (0, 16)
        assert [each.revision for each in on.revisions] == [16, 17, 18, 19, 20]
        assert changes(admin, 3, filters=[(TOPIC, "t")]).error_code == 1
        past = [admin.ask("DescribeConfigsAt", 0, revision=n, resources=[ResourceAt(TOPIC, "t")]) for n in (14, 15)]
        assert [(each.error_code, each.oldest) for each in past] == [(1, 16), (0, 16)]
        assert past[1].results[0].overrides[0].value == "1013"
        early = admin.ask("DescribeConfigsAt", 0, time_ms=1000, resources=[ResourceAt(TOPIC, "t")])
        assert (early.error_code, early.oldest) == (1, 16)


@pytest.mark.parametrize("option", ["journal.retention.revisions=7", "journal.retention.ms=1"])
def test_a_server_with_a_retention_trims_its_journal(option: str) -> None:
    with KconfProcess(properties=dict([option.split("=")]), args=("--metrics", "127.0.0.1:0")) as server:
        fill(server)
        server.restart()
        with Admin(server.bootstrap) as admin:
            oldest = 14 if "revisions" in option else 20
            until(lambda: changes(admin, -1).oldest == oldest)
            assert changes(admin, 0).error_code == 1
            assert admin.overrides("t") == {"segment.ms": "1018"}
            assert set_key(admin, "t", "5000") == 0
            assert metric(server, "kconf_revision") == 21


def test_a_server_without_a_retention_never_trims_its_journal(own_server: KconfProcess) -> None:
    fill(own_server)
    own_server.restart()

    with Admin(own_server.bootstrap) as admin:
        assert (changes(admin, 0).error_code, changes(admin, 0).oldest) == (0, 1)


def test_an_invalid_retention_prevents_the_start() -> None:
    process = KconfProcess(args=("--override", "journal.retention.ms=7d"))
    with pytest.raises(
        RuntimeError, match=r"Invalid value 7d for configuration journal\.retention\.ms: expected an integer"
    ):
        process.start()
    process.close()
