"""A gateway's own ACLs, in a file that is reloaded when it changes.

They are for clusters without an authorizer, or with one that kconf does not support. They apply to requests through the
gateway. They are not ACLs of the cluster: the ACL APIs do not show or change them. If the new file is invalid, empty or
missing, the current ACLs stay in effect, and the error is logged once.
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
from kconf.util.threads.worker_thread import WorkerThread, WorkTimedOut
from kconf.util.watched_file import MISSING, read_with_signature, signature_of, text_of

log = getLogger(__name__)

_CHECK_INTERVAL: Final = 1.0  # seconds
_TIMEOUT: Final = 5.0  # seconds; a file may be on a network disk that does not respond


class AclFile:
    """`index` has the current ACLs. The constructor reads the file and raises its errors."""

    def __init__(self, path: str) -> None:
        self.index = AclIndex()
        self._path = path
        self._resources: set[Resource] = set()
        self._worker = WorkerThread("kconf-acl-file", _TIMEOUT)
        self._seen, data = read_with_signature(path)
        self._use(_parse(data, path))

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
        is_late = self._worker.stuck
        try:
            found = await self._worker.run(self._changed)
        except WorkTimedOut:
            if not is_late:
                log.error("cannot read %s; the current ACLs stay in effect", self._path)
            return
        if found is not None:
            self._use(found)
            log.info("reloaded %s: %d ACLs", self._path, len(found))

    def close(self) -> None:
        self._worker.close()

    def _use(self, bindings: Sequence[AclBinding]) -> None:
        wanted: dict[Resource, dict[str, str]] = {}
        for each in bindings:
            wanted.setdefault(pattern_of(each).resource, {})[key_of(each)] = ""
        for resource in self._resources | wanted.keys():
            self.index.replace(resource, wanted.get(resource, {}))
        self._resources = set(wanted)

    def _changed(self) -> list[AclBinding] | None:
        """The new ACLs, or None if the file is unchanged or invalid."""
        try:
            if signature_of(self._path) == self._seen:
                return None
            self._seen, data = read_with_signature(self._path)
            return _parse(data, self._path)
        except OSError as error:
            if self._seen != MISSING:
                self._log_error(f"cannot read {self._path}: {error.strerror}")
            self._seen = MISSING
        except ConfigurationError as error:
            first, *others = str(error).splitlines()
            self._log_error(f"{first} (and {len(others)} more)" if others else first)
        return None

    def _log_error(self, reason: str) -> None:
        log.error("invalid ACL file; the current ACLs stay in effect: %s", reason)


def _parse(data: bytes, path: str) -> list[AclBinding]:
    from kconf.engine.declarative.acl_file import read_acls  # a local import, so that other servers start faster

    return read_acls(text_of(data, path), path)
