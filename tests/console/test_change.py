"""Change a topic in a browser, with and without script: dry run, risk, result, undo, and a change by another tool."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from tests.console.conftest import DAY, OpenPage
from tests.support.process import KconfProcess


def value(server: KconfProcess, topic: str, key: str) -> str | None:
    with SyncAdminClient(server.bootstrap) as admin:
        return admin.describe_configs([Resource.topic(topic)])[Resource.topic(topic)][key].value


def alter(server: KconfProcess, topic: str, key: str, text: str) -> None:
    with SyncAdminClient(server.bootstrap) as admin:
        op = AlterConfigOp(OpType.SET, key, text)
        admin.incremental_alter_configs({Resource.topic(topic): [op]}).raise_for_failures()


@pytest.fixture
def topic(served: KconfProcess, request: pytest.FixtureRequest) -> str:
    name = re.sub(r"\W+", "-", request.node.name)[-60:]
    with SyncAdminClient(served.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1)]).raise_for_failures()
    alter(served, name, "retention.ms", str(7 * DAY))
    return name


def dry_run(page: Page, text: str) -> None:
    page.get_by_label("Value of retention.ms").fill(text)
    page.get_by_role("button", name="Dry run").click()


@pytest.mark.parametrize("script", [True, False])
def test_only_what_the_dry_run_showed_is_applied_and_can_be_undone(
    served: KconfProcess, open_page: OpenPage, topic: str, script: bool
) -> None:
    page = open_page(f"/home/change?resource=topic:{topic}&key=retention.ms", script=script)
    dry_run(page, "1d")
    assert value(served, topic, "retention.ms") == str(7 * DAY)
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("alert")).to_contain_text("may delete data")
    assert value(served, topic, "retention.ms") == str(7 * DAY)

    page.get_by_label("Accept the risk: data-loss").check()
    page.get_by_label("Reason").fill("INC-9 <i>")
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("main").get_by_role("status")).to_contain_text("1 change made. Reason: INC-9 <i>")
    assert value(served, topic, "retention.ms") == str(DAY)

    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changed")
    assert value(served, topic, "retention.ms") == str(7 * DAY)
    with SyncAdminClient(served.bootstrap) as admin:
        reasons = [each.caller.reason for each in admin.list_changes(0, limit=10_000).revisions]
    assert "INC-9 <i>" in reasons


def test_a_change_by_another_tool_after_the_dry_run_is_not_overwritten(
    served: KconfProcess, open_page: OpenPage, topic: str
) -> None:
    page = open_page(f"/home/change?resource=topic:{topic}&key=retention.ms")
    dry_run(page, "8d")
    alter(served, topic, "retention.ms", str(30 * DAY))
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("alert")).to_contain_text("changed since the dry run")
    expect(page.locator("tbody")).to_contain_text("30d")
    assert value(served, topic, "retention.ms") == str(30 * DAY)


def test_a_dry_run_shows_what_the_server_refuses(open_page: OpenPage, topic: str) -> None:
    page = open_page(f"/home/change?resource=topic:{topic}&key=retention.ms")
    dry_run(page, "-7")
    expect(page.locator("tbody")).to_contain_text("INVALID_CONFIG")
    expect(page.get_by_role("button", name=re.compile("Apply"))).to_have_count(0)


def test_selected_topics_are_changed_together(served: KconfProcess, open_page: OpenPage) -> None:
    page = open_page("/home/topics?q=topic-00")
    for name in ("topic-001", "topic-002"):
        page.get_by_label(f"Select {name}").check()
    page.get_by_role("button", name="Change selected").click()
    page.get_by_label("Another key", exact=True).fill("segment.bytes")
    page.get_by_label("Value of another key").fill("256MiB")
    page.get_by_role("button", name="Dry run").click()
    page.get_by_role("button", name="Apply 2 changes").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changed 2 topics")
    assert [value(served, f"topic-00{n}", "segment.bytes") for n in (1, 2, 3)] == [
        str(1 << 28),
        str(1 << 28),
        str(1 << 30),
    ]


def test_a_protected_context_asks_for_its_name(open_page: OpenPage, served: KconfProcess, topic: str) -> None:
    page = open_page(f"/guarded/change?resource=topic:{topic}&key=retention.ms")
    dry_run(page, "9d")
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("alert")).to_contain_text("guarded is protected")
    page.get_by_label("This context is protected").fill("guarded")
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changed")
    assert value(served, topic, "retention.ms") == str(9 * DAY)
