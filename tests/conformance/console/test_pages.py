"""Every page and flow of the console in a real browser, over a real Kafka: by a gateway, by its log, and polled.

One walk goes through all of them, so that each cluster is prepared once. A message in the browser's console or a
violation of the Content-Security-Policy fails it. What another tool does is done with kafka-configs.sh.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from lab.tools import ToolServer
from tests.conformance.console.world import World, fill, value
from tests.support.browsing import Visits, launched
from tests.support.targets import one_of

DAY = 86_400_000
NO_RECORD = "unknown: not recorded"


@pytest.fixture(scope="module")
def all_visits() -> Iterator[Visits]:
    with launched() as browser:
        yield Visits(browser)


class Walk:
    """One page that goes everywhere, on one cluster."""

    def __init__(self, page: Page, world: World, tools: ToolServer, context: str, tag: str) -> None:
        self.page, self.world, self.context = page, world, context
        self._tools = tools
        self.topic = f"{world.name}-{context}-{tag}"
        self.has_record = context != "polled"
        self.began = int(time.time() * 1000)
        fill(world.kafka.bootstrap, self.topic, {"retention.ms": str(3 * DAY)})
        fill(world.kafka.bootstrap, f"{self.topic}-b", {"retention.ms": str(3 * DAY)})
        world.get(f"/{context}/topic/{self.topic}-b", lambda found: found["keys"])

    def kafka_configs(self, *args: str) -> None:
        done = self._tools.kafka_configs(self.world.kafka.bootstrap, "--alter", *args)
        assert done.returncode == 0, done.stderr

    def set_elsewhere(self, key: str, text: str) -> None:
        self.kafka_configs("--entity-type", "topics", "--entity-name", self.topic, "--add-config", f"{key}={text}")

    def go(self, path: str) -> Locator:
        self.page.goto(f"/{self.context}{path}")
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        wide = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{path} is {wide} pixels too wide"
        return self.page.locator("main")

    def until(self, path: str, text: str) -> Locator:
        """A page that is loaded again until it has a text: a polled cluster is read once in a while."""
        for _ in range(300):
            main = self.go(path)
            if re.search(text, main.inner_text()):
                return main
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{path} never had {text!r}: {main.inner_text()}")

    def value(self, key: str, topic: str = "") -> str | None:
        return value(self.world.kafka.bootstrap, topic or self.topic, key)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name)

    # -- pages -------------------------------------------------------------------------------------------------------

    def clusters_and_lists(self) -> None:
        self.page.goto("/")
        card = self.page.locator(".card").filter(has=self.page.get_by_role("link", name=self.context, exact=True))
        expect(card).to_contain_text("reachable")
        expect(card).to_contain_text("kconf (Kafka 4.3)" if self.context == "gateway" else "Kafka 4.3")
        main = self.go(f"/topics?q={self.topic}+retention.ms%3C4d&columns=retention.ms,changed-by&sort=-retention.ms")
        expect(main.locator("tbody tr")).to_have_count(2)
        expect(main.locator("tbody tr").first).to_contain_text("3d")
        expect(self.go("/topics?q=retention.ms%3E").get_by_role("alert")).to_be_visible()
        expect(self.go("/brokers").locator("tbody tr")).to_have_count(2)
        expect(self.go("/brokers?q=1").locator("tbody tr")).to_have_count(1)
        self.go("/groups?q=none-of-these")
        user = f"user-{self.topic}"
        quota = "producer_byte_rate=1048576"
        self.kafka_configs("--entity-type", "users", "--entity-name", user, "--add-config", quota)
        main = self.until(f"/users?q={user}", user)
        main.get_by_role("link", name=user).click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(user)
        expect(self.page.locator("main")).to_contain_text("1MiB")
        expect(self.page.locator("main")).to_contain_text("No SCRAM credentials.")
        expect(self.page.locator("main")).to_contain_text("no authorizer")

    def one_resource(self) -> None:
        self.set_elsewhere("segment.ms", "7200000")
        main = self.until(f"/topic/{self.topic}", r"segment\.ms\s+2h")  # a topic ID may have "2h" in it
        row = main.locator(".keys-table tr.set").filter(has_text="segment.ms")
        expect(row).to_contain_text(NO_RECORD)
        expect(main.locator(".keys-table tr.set").first).to_contain_text("retention.ms")
        main = self.go(f"/topic/{self.topic}?key=retention.ms")
        expect(main.locator(".levels li")).to_have_count(2)
        expect(main.locator(".levels li").first).to_contain_text("in effect")
        if self.has_record:
            main = self.go(f"/topic/{self.topic}")
            expect(main.get_by_role("img", name="Timeline of all changed keys")).to_be_visible()
            main.locator("table.changes").get_by_role("link").last.click()
            expect(self.page.get_by_role("heading", name="Set at")).to_be_visible()
            expect(self.page.locator("table.diff tr.differs").filter(has_text="segment.ms")).to_contain_text("2h")
            self.go(f"/topic/{self.topic}")
            self.button("Show this time").click()
            expect(self.page.get_by_role("heading", name="Set at")).to_be_visible()
            self.page.get_by_label("Compare from").fill("10m")
            self.button("Compare").click()
            expect(self.page.get_by_role("heading", name=re.compile("From .* to now"))).to_be_visible()
        then = self.go(f"/topic/{self.topic}?at=2020-01-01")
        expect(then.locator("table.diff")).to_contain_text(re.compile("unknown|uncertain"))
        before = self.go(f"/topic/{self.topic}?from=2020-01-01&to=2020-01-02")
        expect(before).to_contain_text("unknown")
        self.go("/broker/1?key=log.retention.hours")
        self.go("/broker/default")

    def change_and_undo(self) -> None:
        self.go(f"/change?resource=topic:{self.topic}&key=retention.ms")
        field = self.page.get_by_label("Value of retention.ms")
        field.fill("-7")
        self.button("Dry run").click()
        expect(self.page.locator("tbody")).to_contain_text("INVALID_CONFIG")
        expect(self.button("Apply")).to_have_count(0)
        self.page.get_by_role("link", name="Edit again").click()
        field.fill("1d")
        self.button("Dry run").click()
        expect(self.page.locator("main")).to_contain_text("these topics are kept for two days")
        expect(self.page.locator("tbody")).to_contain_text("data-loss")
        assert self.value("retention.ms") == str(3 * DAY)
        self.page.get_by_label("Accept the risk: data-loss").check()
        self.page.get_by_label("Reason").fill("INC-4 <b>")
        self.button("Apply 1 change").click()
        expect(self.page.locator("main").get_by_role("status")).to_contain_text("1 change made. Reason: INC-4 <b>")
        assert self.value("retention.ms") == str(DAY)
        applied = self.page.url
        main = self.go(f"/topic/{self.topic}")
        expect(main.locator("tr.set").filter(has_text="retention.ms").locator(".value").first).to_have_text("1d")
        self.set_elsewhere("retention.ms", str(2 * DAY))
        self.page.goto(applied)
        self.button("Undo").click()
        expect(self.page.locator("tbody tr").first).to_contain_text("2d")  # what another tool has set since
        self.button("Apply 1 change").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed")
        assert self.value("retention.ms") == str(3 * DAY)

    def bulk(self) -> None:
        self.go(f"/topics?q={self.topic}")
        for name in (self.topic, f"{self.topic}-b"):
            self.page.get_by_label(f"Select {name}", exact=True).check()
        self.button("Change selected").click()
        self.page.get_by_label("Another key", exact=True).fill("segment.bytes")
        self.page.get_by_label("Value of another key").fill("256MiB")
        self.button("Dry run").click()
        self.button("Apply 2 changes").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed 2 topics")
        assert {self.value("segment.bytes", each) for each in (self.topic, f"{self.topic}-b")} == {str(1 << 28)}

    def quotas_and_access(self) -> None:
        user = f"user-{self.topic}"
        self.go("/quotas")
        self.page.get_by_label("User", exact=True).fill(user)
        self.page.get_by_label("Client ID", exact=True).fill("app")
        self.button("Explain").click()
        row = self.page.get_by_role("region", name="Quotas in effect").locator("tr")
        expect(row.filter(has_text="producer_byte_rate")).to_contain_text("1MiB")
        self.page.locator("select[name=level]").select_option("client in user")
        self.page.locator("select[name=key]").select_option("producer_byte_rate")
        self.page.get_by_label("Value", exact=True).fill("3MiB")
        self.button("Show the effect").click()
        expect(self.page.locator("main").get_by_role("status")).to_contain_text("1MiB (user) → 3MiB (client in user)")
        self.button("Dry run").click()
        self.button("Apply 1 change").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed quota:")
        self.button("Undo").click()
        self.button("Apply 1 change").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed")
        for path in (f"/access?operation=read&resource=topic%3A{self.topic}", "/access/acls"):
            expect(self.go(path)).to_contain_text("no authorizer")
        self.go("/access/users")

    def activity(self, *, is_live: bool) -> None:
        main = self.go("/activity")
        if not self.has_record:
            expect(main).to_contain_text("has no journal")
            expect(main).not_to_contain_text("No changes are recorded")
        elif is_live:
            expect(self.page.locator("body[data-live=open]")).to_be_attached()
            self.set_elsewhere("segment.ms", "10800000")
            first = main.locator("#feed tbody tr").first
            expect(first).to_contain_text("3h")
            expect(first).to_contain_text(NO_RECORD)
        if self.has_record:
            main = self.go(f"/activity?resource=topic:{self.topic}&key=retention.ms")
            expect(main.locator("tbody tr").first).to_contain_text("3d")
        main = self.go(f"/activity?show=refusals&resource=topic:{self.topic}")
        expect(main).to_contain_text("INVALID_CONFIG" if self.context == "gateway" else "Refused requests are unknown")

    def drift(self) -> None:
        declared = f"{self.world.name}-declared-{self.context}"
        if declared not in self.go("/topics?q=declared").inner_text():
            fill(self.world.kafka.bootstrap, declared, {"retention.ms": str(3 * DAY)})
        main = self.until(f"/drift?q={declared}", r"differs|No drift")
        row = main.locator("tbody tr").filter(has_text="retention.ms")
        expect(row).to_contain_text("8d")
        row.get_by_role("link", name="apply").click()
        self.button("Dry run").click()
        self.button("Apply 1 change").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed")
        self.until("/drift", r"No drift|Nothing matches|0 differs")
        name = "--entity-type", "topics", "--entity-name", declared
        self.kafka_configs(*name, "--add-config", f"retention.ms={3 * DAY}")
        self.until(f"/drift?q={declared}", "1 differs")

    def compare_and_promote(self) -> None:
        orders = f"{self.world.name}-orders"
        if orders not in self.go("/topics?q=orders").inner_text():
            fill(self.world.kafka.bootstrap, orders, {"retention.ms": str(3 * DAY)})
        path = f"/compare?with=other&resource={orders}&key=retention.ms"
        row = self.until(path, "3d").locator("tbody tr").filter(has_text="retention.ms")
        expect(row).to_contain_text("7d")
        row.get_by_role("link", name=f"to {self.context}").click()
        self.button("Dry run").click()
        self.button("Apply 1 change").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed")
        assert self.value("retention.ms", orders) == str(7 * DAY)
        self.until(path, "No difference")
        self.kafka_configs(
            "--entity-type", "topics", "--entity-name", orders, "--add-config", f"retention.ms={3 * DAY}"
        )
        main = self.go(f"/compare?from={self.began}&resource={self.topic}&key=segment.bytes")
        if self.has_record:
            row = main.locator("tbody tr").filter(has_text=f"{self.topic}-b")
            expect(row).to_contain_text("256MiB")
            row.get_by_role("link", name="restore").click()
            self.button("Dry run").click()
            self.button("Apply 1 change").click()
            expect(self.page.get_by_role("heading", level=1)).to_contain_text("Changed")
            assert self.value("segment.bytes", f"{self.topic}-b") == str(1 << 30)
        else:
            expect(main.get_by_role("alert")).to_contain_text("has no journal")

    def policies_and_reports(self) -> None:
        self.set_elsewhere("retention.ms", str(DAY))
        main = self.until(f"/policies?q={self.topic}", f"{self.topic}[^-]")
        expect(main.get_by_role("region", name="Violations")).to_contain_text("two days")
        expect(self.go("/reports")).to_contain_text("has no lake")

    def everything(self, *, is_live: bool) -> None:
        self.clusters_and_lists()
        self.one_resource()
        self.change_and_undo()
        self.bulk()
        self.quotas_and_access()
        self.activity(is_live=is_live)
        self.drift()
        self.compare_and_promote()
        self.policies_and_reports()


@pytest.mark.parametrize("context", ["gateway", "followed", "polled"])
@pytest.mark.parametrize(
    ("width", "dark", "script"),
    one_of((1280, False, True), [(390, True, True), (1280, True, False), (390, False, False)]),
)
def test_every_page_and_flow_works(
    all_visits: Visits, world: World, tools: ToolServer, context: str, width: int, dark: bool, script: bool
) -> None:
    page = all_visits.open(world.url, "/", width=width, dark=dark, script=script)
    Walk(page, world, tools, context, f"{width}-{script}").everything(is_live=script)
    complaints = list(all_visits.complaints)
    all_visits.leave()
    assert complaints == []
