"""A gateway's own ACLs, in a file that is reloaded when it changes.

They are for clusters without an authorizer, or with one that kconf does not support. They apply to requests through the
gateway. They are not ACLs of the cluster: the ACL APIs do not show or change them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from logging import getLogger
from typing import Final

from kconf.configdef.server_settings import ACL_FILE, text_setting
from kconf.engine.access.acls import AclIndex, key_of, pattern_of
from kconf.errors import ConfigurationError
from kconf.model.acl import AclBinding
from kconf.model.resource import Resource
from kconf.util.watched_file import WatchedFile, text_of

log = getLogger(__name__)

_CHECK_INTERVAL: Final = 1.0  # seconds


class AclFile:
    """`index` has the current ACLs. The constructor reads the file and raises its errors."""

    def __init__(self, path: str) -> None:
        self.index = AclIndex()
        self._path = path
        self._resources: set[Resource] = set()
        self._file = WatchedFile(path, lambda data: _parse(data, path), "ACL file", "ACLs")
        self._use(self._file.content)

    @classmethod
    def of(cls, static: Mapping[str, str], *, is_gateway: bool) -> AclFile | None:
        """The file in the static configuration, or None. Raises ConfigurationError."""
        path = text_setting(static, ACL_FILE)
        if not path:
            return None
        if not is_gateway:
            raise ConfigurationError(f"{ACL_FILE} is a setting of a gateway: use it with --upstream")
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
            self._use(found)
            log.info("reloaded %s: %d ACLs", self._path, len(found))

    def close(self) -> None:
        self._file.close()

    def _use(self, bindings: Sequence[AclBinding]) -> None:
        wanted: dict[Resource, dict[str, str]] = {}
        for each in bindings:
            wanted.setdefault(pattern_of(each).resource, {})[key_of(each)] = ""
        for resource in self._resources | wanted.keys():
            self.index.replace(resource, wanted.get(resource, {}))
        self._resources = set(wanted)


def _parse(data: bytes, path: str) -> list[AclBinding]:
    from kconf.engine.declarative.acl_file import read_acls  # a local import, so that other servers start faster

    return read_acls(text_of(data, path), path)
