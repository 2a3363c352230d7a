"""Revision marks: the last changes of znodes that cannot store them themselves.

kconf stamps the znodes that it writes with the revisions of their last changes (znode_codec.py). A znode that was
deleted or written externally has no stamp; its revisions are then in a znode of their own under /kconf/marks. That also
has the values that stay in force although the external document has something in their place that cannot be read.
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

    `retained` has the values, encoded as in the znode, that stay in force for those that cannot be read.
    """

    revisions: Sequence[int]
    mzxid: int = 0  # of the version that was journaled; 0: the znode was deleted
    retained: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def read(cls, data: bytes) -> RevisionMark | None:
        """None if it is malformed."""
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
