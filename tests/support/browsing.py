"""A real browser on pages of the console.

Whatever the browser complains about is remembered, and the caller asserts that it is nothing: a message in its console
(a violation of the Content-Security-Policy is one), an error of a script, a request that fails or goes elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from lab.browser import browser as chromium

expect.set_options(timeout=60_000)  # a busy machine is no failure
_LEFT = "net::ERR_ABORTED"  # the page was left before the response, as always with a stream of events


@contextmanager
def launched() -> Iterator[Browser]:
    """One browser process, for as long as the `with` block lasts."""
    with sync_playwright() as tool, tool.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]) as found:
        yield found


class Visits:
    """Opens pages, and remembers what their browser complains about. Pages with the same settings share a context."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: dict[tuple[object, ...], BrowserContext] = {}
        self._pages: list[Page] = []
        self.complaints: list[str] = []

    def open(
        self,
        url: str,
        path: str,
        *,
        width: int = 1280,
        dark: bool = False,
        script: bool = True,
        expected: str = "",
        elsewhere: str = "",
    ) -> Page:
        """`expected` is a message of the browser that is no complaint: that a page has the status 403, say.

        `elsewhere` is another site to which pages may lead: a provider of logins.
        """
        allowed = (url, elsewhere or url)
        page = self._context(url, dark=dark, script=script).new_page()
        self._pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        complain = self.complaints.append

        def message(each: ConsoleMessage) -> None:
            if not expected or expected not in each.text:
                complain(each.text)

        def requested(each: Request) -> None:
            if not each.url.startswith(allowed):
                complain(f"elsewhere: {each.url}")

        def failed(each: Request) -> None:
            if each.failure != _LEFT:
                complain(f"failed: {each.url}: {each.failure}")

        page.on("console", message)
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("request", requested)
        page.on("requestfailed", failed)
        page.goto(path)
        return page

    def _context(self, url: str, *, dark: bool, script: bool) -> BrowserContext:
        key = url, dark, script
        if key not in self._contexts:
            self._contexts[key] = self._browser.new_context(
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",  # colors are measured: none may be on its way to another
                java_script_enabled=script,
                base_url=url,
            )
        return self._contexts[key]

    def leave(self) -> None:
        """Close the pages and forget the cookies. The contexts stay for the next test, with the files they loaded."""
        for each in self._pages:
            each.close()
        self._pages.clear()
        for context in self._contexts.values():
            context.clear_cookies()
        self.complaints.clear()

    def close(self) -> None:
        self.leave()
        for each in self._contexts.values():
            each.close()
        self._contexts.clear()
