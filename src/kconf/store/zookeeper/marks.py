"""Revision marks: the revisions of znodes that do not contain them.

kconf writes the revisions of the last changes into the znodes that it writes (znode_codec.py). For a znode that was
deleted or written externally, the revisions are in a separate znode under /kconf/marks. It also contains the values
that stay in effect because the external ones cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote, unquote

from kconf.store.zookeeper.paths import MARKS


class RevisionMark(NamedTuple):
    """The revisions of the last changes of a znode's resources.

    `retained` has the values, encoded as in the znode, that stay in effect because the new ones cannot be read.
    """

    revisions: Sequence[int]
    mzxid: int = 0  # zxid of the journaled version, or 0 if the znode was deleted
    retained: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def read(cls, data: bytes) -> RevisionMark | None:
        """Parse a mark. None if it is malformed."""
        try:
            revisions, mzxid, *rest = json.loads(data)
            retained = {str(key): str(value) for each in rest for key, value in each.items()}
            return cls(tuple(map(int, revisions)), int(mzxid), retained)
        except (TypeError, ValueError, AttributeError):
            return None

    def write(self) -> bytes:
        retained = [dict(self.retained)] if self.retained else []
        return json.dumps([list(self.revisions), self.mzxid, *retained]).encode()


def mark_path(path: str) -> str:
    """The path of the mark of a znode."""
    return f"{MARKS}/{quote(path, safe='')}"


def marked_path(name: str) -> str:
    """The znode whose mark has this name."""
    return unquote(name)
