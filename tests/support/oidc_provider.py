"""A real OIDC provider process for a `with` block: see `oidc_app.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, Request, build_opener

from kconf.console.oidc_settings import OidcSettings

CLIENT, SECRET, AUDIENCE = "kconf-console", "s3cret of the client & more", "kafka"
_OPENER = build_opener(ProxyHandler({}))


class OidcProvider:
    """`issuer` is its address, `keys_file` has its public keys. Users: ana (groups kafka-admins, staff), bo, eve."""

    def __init__(self, directory: Path) -> None:
        self.keys_file = directory / "keys.json"
        self.issuer = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.support.oidc_app", str(self.keys_file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.issuer = self._process.stdout.readline().strip()
        assert self.issuer, "the provider did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.communicate(timeout=60)

    def settings(self, **more: Any) -> OidcSettings:
        return OidcSettings(self.issuer, CLIENT, SECRET, **more)

    def control(self, **changes: Any) -> int:
        """`lifetime` of access tokens in seconds, their `audience`, `rotate` the key, `revoke` refresh tokens.

        Returns how often tokens were renewed.
        """
        body = json.dumps(changes).encode()
        asked = Request(f"{self.issuer}/control", body, {"Content-Type": "application/json"})
        with _OPENER.open(asked, timeout=60) as response:
            return int(json.load(response)["renewed"])
