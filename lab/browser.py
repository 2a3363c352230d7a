"""A real headless browser, for tests of HTML pages.

`python -m lab.browser` finds Chromium or Chrome; on Debian as root, it installs one if there is none. The browser is
controlled through a pair of pipes with the DevTools Protocol: each message is a JSON object that ends with a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from lab.java import LabError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
PACKAGES = ("chromium", "fonts-dejavu-core")  # without a font no text is rendered
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


def found() -> str | None:
    """The browser on the PATH, or in the usual place on macOS."""
    on_path = next(filter(None, map(shutil.which, NAMES)), None)
    return on_path or (str(MAC) if MAC.exists() else None)


def browser() -> str:
    """The browser; raises an error that says what to install."""
    path = found()
    if path is None:
        raise LabError(f"The tests need a real browser, and none was found: install the package {PACKAGES[0]}.")
    return path


def install() -> None:
    """Install Debian's browser, for CI machines that are created for each run."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "--yes", "--no-install-recommends", *PACKAGES)):
        command = ["apt-get", "--quiet", "-o", "Acquire::Retries=5", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
        if done.returncode != 0:
            told = (done.stderr.strip() or done.stdout.strip() or "no error message").splitlines()[-1]
            raise LabError(f"apt-get could not install {PACKAGES[0]}, which the tests need: {told}")


class Browser:
    """One browser process with its own profile, for the duration of a `with` block."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            profile = stack.enter_context(tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True))
            its_in, self._out = os.pipe()
            self._in, its_out = os.pipe()
            # The browser reads from descriptor 3 and writes to 4.
            command = f'exec "$0" "$@" 3<&{its_in} 4>&{its_out}'
            self._process = subprocess.Popen(
                ["bash", "-c", command, browser(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
                pass_fds=(its_in, its_out),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            os.close(its_in)
            os.close(its_out)
            stack.callback(self._end)
            self._numbers = itertools.count(1)
            self._rest = b""
            self.events: list[dict[str, Any]] = []
            self.call("Browser.getVersion")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, address: str, *, width: int, dark: bool = False) -> Tab:
        """Open a page and wait until it is loaded; its requests and messages are recorded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, session).load(address, width, dark)

    def call(self, method: str, session: str | None = None, **words: Any) -> dict[str, Any]:
        """Send one command and return its result; events meanwhile are stored in `events`."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": words, **({"sessionId": session} if session else {})}
        with contextlib.suppress(BrokenPipeError):  # it has ended; reading shows why
            os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self.next()).get("id") != number:
            self.events.append(answer)
        if "error" in answer:
            raise LabError(f"The browser refused {method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def next(self) -> dict[str, Any]:
        """The next message, with a long timeout."""
        end = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as ready:
            ready.register(self._in, selectors.EVENT_READ)
            while b"\0" not in self._rest:
                if not ready.select(max(end - time.monotonic(), 0)):
                    raise LabError(f"The browser sent no message for {PATIENCE:.0f} s.")
                some = os.read(self._in, 1 << 16)
                if not some:
                    raise LabError(f"The browser exited with {self._process.wait()}.")
                self._rest += some
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def _end(self) -> None:
        """Close the pipe, which ends the browser; if it does not end, kill it."""
        os.close(self._out)
        try:
            self._process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)


class Tab:
    """One page in a browser, and all events while it was loaded."""

    def __init__(self, whole: Browser, session: str) -> None:
        self._browser = whole
        self._session = session

    def load(self, address: str, width: int, dark: bool) -> Tab:
        for each in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{each}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=address)
        while not self.happened("Page.loadEventFired"):
            self._browser.events.append(self._browser.next())
        return self

    def call(self, method: str, **words: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **words)

    def happened(self, *methods: str) -> list[dict[str, Any]]:
        """The events of some kinds."""
        mine = (each for each in self._browser.events if each.get("sessionId") == self._session)
        return [each["params"] for each in mine if each["method"] in methods]

    def ask(self, script: str) -> Any:
        """Evaluate an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise LabError(f"The page cannot evaluate {script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def picture(self, file: Path) -> None:
        """A screenshot of the whole page as PNG."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))


def main() -> int:
    """`python -m lab.browser`: install a browser, or print in one sentence what is missing."""
    try:
        if found() is None and os.geteuid() == 0 and shutil.which("apt-get"):
            install()
        browser()
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
