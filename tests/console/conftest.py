"""A kconf server with a history, a console for it, and one browser for all tests.

`open_page` opens a page of the console. The test fails on a message in the browser's console, a script error, a request
that fails or goes to another host, or a violation of the Content-Security-Policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.client.contexts.context import Context
from kconf.console.run import RunningConsole, console_in_thread
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from lab.browser import browser as chromium
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

OpenPage = Callable[..., Page]
expect.set_options(timeout=60_000)  # long, for a busy machine


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
                wish = {ORDERS: [AlterConfigOp(OpType.SET, key, value)]}
                admin.incremental_alter_configs(wish, reason=reason).raise_for_failures()
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
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    with playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]) as found:
        yield found


class Visits:
    """Opens pages in separate browser contexts, and collects the browser's error messages."""

    def __init__(self, browser: Browser, stack: ExitStack) -> None:
        self._browser, self._stack = browser, stack
        self.complaints: list[str] = []

    def open(
        self, url: str, path: str, *, width: int = 1280, dark: bool = False, script: bool = True, expected: str = ""
    ) -> Page:
        """`expected` is a browser message that is not an error, for example about the status 403."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",  # colors are measured, so transitions must have ended
            java_script_enabled=script,
            base_url=url,
        )
        self._stack.callback(context.close)
        page = context.new_page()
        complain = self.complaints.append
        page.on("console", lambda each: None if expected and expected in each.text else complain(each.text))
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("requestfailed", lambda each: complain(f"failed: {each.url}") if _matters(each) else None)
        page.on("request", lambda each: None if each.url.startswith(url) else complain(f"elsewhere: {each.url}"))
        page.goto(path)
        return page


@pytest.fixture
def visits(browser: Browser) -> Iterator[Visits]:
    with ExitStack() as stack:
        found = Visits(browser, stack)
        yield found
    assert found.complaints == []


@pytest.fixture
def open_page(visits: Visits, console: RunningConsole) -> OpenPage:
    """Opens a path: `open_page("/home/topics", width=390, dark=True, script=False)`."""
    return partial(visits.open, console.url)


def _matters(request: object) -> bool:
    """Whether a failed request matters: an event stream ends when its page is closed."""
    return not str(getattr(request, "url", "")).endswith("/-/events")


@pytest.fixture(scope="package")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")
