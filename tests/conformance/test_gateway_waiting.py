"""A gateway whose request has no response yet, in front of a real KRaft cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ErrorCode
from kconf.model.alteration import NewTopic
from kconf.model.resource import Resource
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.test_gateway import KEY, begin, gateway, setting, topic  # noqa: F401


@pytest.mark.parametrize("polls", [False, True], ids=["log", "polls"])
def test_changes_of_others_are_visible_and_journaled_while_a_request_has_no_response(
    polls: bool,
    kafka_431: KafkaBroker,
    topic: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Also changes of another key of the same topic."""
    resource, hold, other = Resource.topic(topic), tmp_path / "hold", "segment.bytes"
    program = ("tests.support.slow_gateway", str(hold))
    with (
        gateway(kafka_431, tmp_path / "gw.db", program=program, polls=polls) as (address, _),
        SyncAdminClient(address) as admin,
        SyncAdminClient(address) as reader,
        SyncAdminClient(kafka_431.bootstrap) as direct,
        ThreadPoolExecutor(1) as thread,
    ):

        def shown(client: SyncAdminClient, key: str) -> str | None:
            return client.describe_configs([resource])[resource][key].value

        def journal() -> list[tuple[str, str | None, str]]:
            found = reader.list_changes(begin(reader), about=[resource]).revisions
            return [(one.key, one.after, each.caller.principal) for each in found for one in each.changes]

        hold.touch()
        ours = thread.submit(admin.incremental_alter_configs, {resource: setting(5)}, reason="slow")
        until(hold.with_suffix(".reached").exists, True)
        direct.incremental_alter_configs({resource: setting(9_000_000, other)}).raise_for_failures()
        until(lambda: shown(reader, other), "9000000")
        assert journal() == [(other, "9000000", "")]
        assert not ours.done()
        hold.unlink()
        ours.result(60).raise_for_failures()
        assert shown(reader, KEY) == "5"
        assert journal() == [(other, "9000000", ""), (KEY, "5", "User:ANONYMOUS")]


def test_only_one_of_two_waiting_topics_with_the_same_metric_name_is_created(
    kafka_431: KafkaBroker,
    topic: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Kafka refuses the second one, unless both are in one request."""
    hold, stem = tmp_path / "hold", a_name("twin")
    program = ("tests.support.slow_gateway", str(hold))
    with (
        gateway(kafka_431, tmp_path / "gw.db", program=program) as (address, _),
        SyncAdminClient(address) as first,
        SyncAdminClient(address) as second,
        SyncAdminClient(address) as third,
        ThreadPoolExecutor(3) as thread,
    ):
        hold.touch()
        slow = thread.submit(first.incremental_alter_configs, {Resource.topic(topic): setting(5)})
        until(hold.with_suffix(".reached").exists, True)
        twins = [
            thread.submit(admin.create_topics, [NewTopic(name, 1, 1)])
            for admin, name in ((second, f"{stem}.a"), (third, f"{stem}_a"))
        ]
        hold.unlink()
        slow.result(60).raise_for_failures()
        codes = [[failure.code for failure in each.result(60).failures.values()] for each in twins]
    assert sorted(codes) == [[], [ErrorCode.INVALID_TOPIC_EXCEPTION]]
