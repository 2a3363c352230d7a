"""A kconf server with a history, a console for it, and one browser for all tests.

`open_page` opens a page of the console. Whatever the browser complains about fails the test: see
tests/support/browsing.py.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.client.contexts.context import Context
from kconf.console.run import RunningConsole, console_in_thread
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from tests.support.browsing import Visits, launched
from tests.support.process import KconfProcess

DAY = 86_400_000
ORDERS = Resource.topic("orders")
HOSTILE = "<script>alert(1)</script> & \u202e\x1b[31mred"

POLICY = """\
version: 1
rules:
  - id: wide
    selector: {type: topic, name: [orders, payments]}
    key: partitions
    condition: {min: 12}
    message: these topics need 12 partitions
"""
DECLARED = """\
version: 1
topics:
  topic-007:
    partitions: 3
    replication: 1
    configs: {retention.ms: 8d}
"""

FOLLOWED = {"home", "guarded", "ruled"}
"""Contexts of the server."""

OpenPage = Callable[..., Page]
TakePicture = Callable[[Page, str], None]


@pytest.fixture(scope="package")
def served() -> Iterator[KconfProcess]:
    """A kconf server with topics; `orders` was changed a few times."""
    with KconfProcess() as server:
        with SyncAdminClient(server.bootstrap) as admin:
            many = [NewTopic(f"topic-{number:03}", 3, 1) for number in range(120)]
            admin.create_topics([NewTopic("orders", 6, 1), NewTopic("payments", 12, 1), *many]).raise_for_failures()
            for key, value, reason in (
                ("retention.ms", str(DAY), "INC-1: the disk was full"),
                ("cleanup.policy", "compact", HOSTILE),
                ("retention.ms", str(3 * DAY), None),
            ):
                requested = {ORDERS: [AlterConfigOp(OpType.SET, key, value)]}
                admin.incremental_alter_configs(requested, reason=reason).raise_for_failures()
        yield server


@pytest.fixture(scope="package")
def console(served: KconfProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningConsole]:
    """A console for that server and for a cluster that is down. The context `ruled` has a policy and declared files."""
    folder = tmp_path_factory.mktemp("declared")
    policy, declared = folder / "policy.yaml", folder / "cluster.yaml"
    policy.write_text(POLICY)
    declared.write_text(DECLARED)
    contexts = [
        Context("home", served.bootstrap),
        Context("guarded", served.bootstrap, protected=True),
        Context("ruled", served.bootstrap, policy=str(policy)),
        Context("down", "127.0.0.1:1", protected=True),
    ]
    settings = ConsoleSettings(
        ListenAddress("127.0.0.1", 0),
        [Target(each) for each in contexts],
        interval=2.0,
        files={"ruled": [str(declared)]},
    )
    with console_in_thread(settings) as running:
        yield running


@pytest.fixture(scope="package")
def all_visits() -> Iterator[Visits]:
    with launched() as browser:
        found = Visits(browser)
        yield found
        found.close()


@pytest.fixture
def visits(all_visits: Visits) -> Iterator[Visits]:
    yield all_visits
    complaints = list(all_visits.complaints)
    all_visits.leave()
    assert complaints == []


@pytest.fixture
def open_page(visits: Visits, console: RunningConsole, served: KconfProcess) -> OpenPage:
    """Opens a path: `open_page("/home/topics", width=390, dark=True, script=False)`.

    The page has every change that the server has acknowledged: the console follows it, and may be a little behind.
    """

    def open_path(path: str, **options: Any) -> Page:
        context = path.split("/")[1]
        if context in FOLLOWED:
            await_changes(f"{console.url}{context}/activity", served)
        return visits.open(console.url, path, **options)

    return open_path


def await_changes(url: str, server: KconfProcess) -> None:
    """Return when this page of activity has the last change of the server."""
    with SyncAdminClient(server.bootstrap) as admin:
        last = admin.list_changes(-1).current
    request = Request(url, headers={"Accept": "application/json"})
    for _ in range(600):
        with urlopen(request) as answer:
            rows = json.load(answer)["rows"]
        if rows and rows[0]["change"]["revision"] >= last:
            return
        time.sleep(0.1)
    pytest.fail(f"the console does not show change {last}")


@pytest.fixture(scope="package")
def take_picture() -> TakePicture:
    """A picture of the whole page, for people to look at, in the directory KCONF_PICTURES; without it there is none."""
    folder = os.environ.get("KCONF_PICTURES")

    def take(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    return take
