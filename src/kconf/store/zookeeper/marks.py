"""Revision marks: the last changes of znodes that cannot store them themselves.

kconf stamps the znodes that it writes with the revisions of their last changes (znode_codec.py). A znode that was
deleted or written externally has no stamp; its revisions are then in a znode of their own under /kconf/marks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from kconf.store.zookeeper.paths import MARKS


class RevisionMark(NamedTuple):
    """The revisions of the last changes of a znode's resources."""

    revisions: Sequence[int]
    mzxid: int = 0  # of the version that was journaled; 0: the znode was deleted

    @classmethod
    def read(cls, data: bytes) -> RevisionMark | None:
        """None if it is malformed."""
        try:
            revisions, mzxid = json.loads(data)
            return cls(tuple(map(int, revisions)), int(mzxid))
        except (TypeError, ValueError):
            return None

    def write(self) -> bytes:
        return json.dumps([list(self.revisions), self.mzxid]).encode()


def mark_path(path: str) -> str:
    """The path of the mark of a znode."""
    return f"{MARKS}/{quote(path, safe='')}"


def marked_path(name: str) -> str:
    """The znode whose mark has this name."""
    return unquote(name)
