"""The SCRAM credentials of a gateway's own users, in a file that is reloaded when it changes.

They are for logins at the gateway only. They are not credentials of the cluster: the SCRAM APIs do not show or change
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from logging import getLogger
from typing import Final

from kconf.configdef.server_settings import SCRAM_FILE, text_setting
from kconf.errors import ConfigurationError
from kconf.security.scram_file import read_credentials
from kconf.server.auth.upstream_credentials import UpstreamCredentials
from kconf.util.watched_file import WatchedFile, text_of

log = getLogger(__name__)

_CHECK_INTERVAL: Final = 1.0  # seconds


class ScramFile:
    """The file with the SCRAM credentials of a gateway's own users. The constructor raises its errors."""

    def __init__(self, path: str) -> None:
        self.credentials = UpstreamCredentials()
        self._path = path
        self._file = WatchedFile(
            path, lambda data: read_credentials(text_of(data, path), path), "SCRAM file", "credentials", is_secret=True
        )
        self.credentials.replace(self._file.content)

    @classmethod
    def of(cls, static: Mapping[str, str], *, is_gateway: bool) -> ScramFile | None:
        """The file in the static configuration, or None. Raises ConfigurationError."""
        path = text_setting(static, SCRAM_FILE)
        if not path:
            return None
        if not is_gateway:
            raise ConfigurationError(f"{SCRAM_FILE} is a setting of a gateway: use it with --upstream")
        return cls(path)

    async def follow(self) -> None:
        """Reload the file when it changes. Runs until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_INTERVAL)
            await self.refresh()

    async def refresh(self) -> None:
        """Read the file again if it has changed."""
        found = await self._file.changed()
        if found is not None:
            self.credentials.replace(found)
            log.info("reloaded %s: %d SCRAM credentials", self._path, len(found))

    def close(self) -> None:
        self._file.close()
