"""The web console with 10,000 topics: server time, size and first paint of pages, and the delay of a change.

Only kconf: Kafka has no console. The console is a separate process; a client that does not render measures the time of
a page, on one connection. The size is the compressed transfer with style and scripts.
"""

from __future__ import annotations

import http.client
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bench.arena import Arena, main
from bench.table import Goal, Row
from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from tests.support.process import KconfProcess

TOPICS = 10_000
ROUNDS = 20
CHANGES = 20
PAINTS = 7
DAY = 86_400_000
CHANGED = Resource.topic("topic-00042")
PAGES: Mapping[str, str] = {
    "clusters": "/",
    "topics": "/{context}/topics",
    "topics, searched": "/{context}/topics?q=42",
    "topics, retention.ms>30d, sorted": "/{context}/topics?q=retention.ms%3E30d&sort=-retention.ms",
    "topics, last page": "/{context}/topics?page=200",
    "one topic": "/{context}/topic/topic-00042",
    "one topic at a time": "/{context}/topic/topic-00042?at=now",
    "one broker": "/{context}/broker/1",
    "activity": "/{context}/activity",
    "activity, searched": "/{context}/activity?q=topic-00042",
    "quotas of a client": "/{context}/quotas?user=alice&client-id=app",
    "access": "/{context}/access/acls",
    "compare two times": "/{context}/compare?from=1h",
}


def rows(arena: Arena) -> Iterator[Row]:
    if "kconf" not in arena.names:
        return
    with KconfProcess() as server:
        _fill(server.bootstrap)
        with _console(server.bootstrap) as port:
            browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            context = server.bootstrap.replace(":", "%3A")
            for name, path in PAGES.items():
                yield from _page(browser, name, path.format(context=context))
            yield from _live(server.bootstrap, port, context)
            yield from _paint(port, context)


def _fill(bootstrap: str) -> None:
    names = [f"topic-{number:05}" for number in range(TOPICS)]
    with SyncAdminClient(bootstrap) as admin:
        for start in range(0, TOPICS, 1000):
            admin.create_topics([NewTopic(name, 6, 1) for name in names[start : start + 1000]]).raise_for_failures()
        ops = {
            Resource.topic(name): [AlterConfigOp(OpType.SET, "retention.ms", str((number % 60 + 1) * DAY))]
            for number, name in enumerate(names)
            if number % 2 == 0
        }
        admin.incremental_alter_configs(ops).raise_for_failures()


@contextmanager
def _console(bootstrap: str) -> Iterator[int]:
    """Run the command, and wait until it has read the cluster."""
    words = (sys.executable, "-m", "kconf", "console", "-b", bootstrap, "--listen", "127.0.0.1:0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[^:]+:(\d+)/", process.stdout.readline())
            assert found is not None
            port = int(found[1])
            _wait_for_history(port)
            yield port
        finally:
            process.terminate()


def _wait_for_history(port: int) -> None:
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while True:
        browser.request("GET", "/", headers={"accept": "application/json"})
        (cluster,) = json.loads(browser.getresponse().read())["clusters"]
        if cluster["changes_today"] is not None:
            return
        time.sleep(0.1)


def _page(browser: http.client.HTTPConnection, name: str, path: str) -> Iterator[Row]:
    seconds, weight = [], 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        browser.request("GET", path, headers={"accept": "text/html", "accept-encoding": "gzip"})
        response = browser.getresponse()
        body = response.read()
        seconds.append(time.perf_counter() - began)
        assert response.status == 200, (path, response.status)
        weight = len(body)
    slowest = sorted(seconds)[int(ROUNDS * 0.95) - 1]
    yield Row(
        f"console, {TOPICS:,} topics: {name}",
        "s",
        {"kconf": [statistics.median(seconds)]},
        [Goal("most", 0.1, "≤ 100 ms")],
        less_is_better=True,
        notes={"p95_ms": slowest * 1000, "bytes": weight},
    )
    if name in ("topics", "one topic", "one broker"):
        yield Row(
            f"console: weight of {name}, compressed, with style and scripts",
            "KB",
            {"kconf": [(weight + _shared(browser)) / 1000]},
            [Goal("most", 100, "≤ 100 KB")],
            less_is_better=True,
        )


def _shared(browser: http.client.HTTPConnection) -> int:
    """Style and scripts, which a browser loads once."""
    browser.request("GET", "/", headers={"accept": "text/html"})
    page = browser.getresponse().read().decode()
    total = 0
    for path in re.findall(r'(?:src|href)="(/-/static/[^"]+)"', page):
        browser.request("GET", path, headers={"accept-encoding": "gzip"})
        total += len(browser.getresponse().read())
    return total


def _live(bootstrap: str, port: int, context: str) -> Iterator[Row]:
    """The time from the response of a change to the event in the page."""
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    browser.request("GET", "/")
    first = browser.getresponse()
    first.read()
    cookie = first.headers["set-cookie"].split(";")[0]
    browser.request("GET", f"/{context}/-/events", headers={"cookie": cookie})
    events = browser.getresponse()
    delays = []
    with SyncAdminClient(bootstrap) as admin:
        for number in range(CHANGES):
            op = AlterConfigOp(OpType.SET, "retention.ms", str(DAY + number))
            admin.incremental_alter_configs({CHANGED: [op]}).raise_for_failures()
            answered = time.perf_counter()
            while not events.readline().startswith(b"event: changed"):
                pass
            delays.append(time.perf_counter() - answered)
    yield Row(
        "console: a change reaches the page after its response, p95",
        "s",
        {"kconf": [sorted(delays)[int(CHANGES * 0.95) - 1]]},
        [Goal("most", 0.2, "≤ 200 ms")],
        less_is_better=True,
        notes={"p50_ms": statistics.median(delays) * 1000},
    )


def _paint(port: int, context: str) -> Iterator[Row]:
    """First contentful paint in a browser with an empty cache."""
    from playwright.sync_api import sync_playwright

    from lab.browser import browser as chromium

    script = """new Promise(done => new PerformanceObserver(list => {
        const paint = list.getEntriesByName('first-contentful-paint')[0];
        if (paint) done(paint.startTime);
    }).observe({type: 'paint', buffered: true}))"""
    with sync_playwright() as tool, tool.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]) as browser:
        for name in ("topics", "one topic"):
            found = []
            for _ in range(PAINTS):
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{port}{PAGES[name].format(context=context)}")
                found.append(page.evaluate(script) / 1000)
                page.close()
            yield Row(
                f"console: first paint of {name}",
                "s",
                {"kconf": [statistics.median(found)]},
                [Goal("most", 0.3, "≤ 300 ms")],
                less_is_better=True,
            )


if __name__ == "__main__":
    main(rows)
