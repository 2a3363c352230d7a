"""`kconf console` as a process: it prints its address, serves, and stops; and what it refuses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.process import KconfProcess

CONTEXTS = """\
contexts:
  prod-eu: {bootstrap: "%s"}
  prod-us: {bootstrap: "127.0.0.1:1"}
  test: {bootstrap: "127.0.0.1:1"}
"""


def started(config: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "KCONF_CONFIG": str(config)}
    command = [sys.executable, "-m", "kconf", "console", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def refused(config: Path, *words: str) -> str:
    process = started(config, *words)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1
    return error


@pytest.fixture
def config(tmp_path: Path, served: KconfProcess) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONTEXTS % served.bootstrap)
    path.chmod(0o600)
    return path


def test_the_console_serves_matching_contexts_until_it_is_stopped(config: Path) -> None:
    process = started(config, "-C", "prod-*", "--listen", "127.0.0.1:0")
    try:
        assert process.stdout is not None
        found = re.fullmatch(r"kconf console ready: (http://127\.0\.0\.1:\d+/)\n", process.stdout.readline())
        assert found is not None
        response = urllib.request.urlopen(found[1], timeout=60)
        page, cookie = response.read().decode(), response.headers["set-cookie"].split(";")[0]
        assert [name for name in ("prod-eu", "prod-us", "test") if f"/{name}/topics" in page] == ["prod-eu", "prod-us"]
        events = urllib.request.Request(f"{found[1]}prod-eu/-/events", headers={"cookie": cookie})
        stream = urllib.request.urlopen(events, timeout=60)  # a page that is open
        assert stream.readline() == b"retry: 2000\n"
    finally:
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in error
    assert error.startswith("kconf: login is off: everybody who can reach this address uses the credentials")


def test_an_unreachable_oidc_provider_is_reported_on_a_page_at_login(config: Path) -> None:
    issuer = ("--oidc-issuer", "https://127.0.0.1:1", "--oidc-client-id", "console")
    process = started(config, "-C", "prod-eu", "--listen", "127.0.0.1:0", *issuer)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert "login required" in urllib.request.urlopen(url, timeout=60).read().decode()
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{url}-/oidc/start", timeout=60)
        with caught.value as answer:
            assert (answer.code, "https://127.0.0.1:1 cannot be reached" in answer.read().decode()) == (502, True)
    finally:
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (0, "")


def test_listening_for_others_without_login_and_tls_is_refused(config: Path) -> None:
    assert "pass --login, or listen on 127.0.0.1" in refused(config, "--listen", "0.0.0.0:0")
    assert "pass --tls-certificate and --tls-key" in refused(config, "--listen", "0.0.0.0:0", "--login")


def test_invalid_options_are_reported_in_one_sentence(config: Path, tmp_path: Path) -> None:
    assert "no context" in refused(config, "-C", "nothing")
    assert "HOST:PORT" in refused(config, "--listen", "8080")
    assert "--oidc-client-id needs --oidc-issuer" in refused(config, "--oidc-client-id", "console")
    assert "no context to serve" in refused(tmp_path / "none.yaml")
