"""The state and the znode versions at the last revision that was read from the journal. Does no I/O."""

from __future__ import annotations

from collections import Counter

from kconf.store.zookeeper import paths
from kconf.store.zookeeper.loader import LoadedState, ZnodeTree
from kconf.store.zookeeper.passwords import BrokerPasswords
from kconf.store.zookeeper.znode_ops import ZnodeWrites


class ZnodeCache:
    """The snapshot, the versions of its znodes, and the znodes that have a revision mark."""

    def __init__(self, loaded: LoadedState, tree: ZnodeTree, passwords: BrokerPasswords, *, has_brokers: bool) -> None:
        self.snapshot = loaded.snapshot
        self.versions = loaded.versions
        self.marks = set(tree.marks)
        self.passwords = passwords
        self.has_brokers = has_brokers  # with brokers, Kafka's controller deletes topics
        self.client_counts = Counter(user for path in loaded.versions if (user := user_of_client(path)) is not None)

    def apply(self, writes: ZnodeWrites) -> None:
        """Update the cache after a commit, of this server or another."""
        for path, version in writes.versions.items():
            user = user_of_client(path)
            if version is None:
                if self.versions.pop(path, None) is not None and user is not None:
                    self.client_counts[user] -= 1
            else:
                if user is not None and path not in self.versions:
                    self.client_counts[user] += 1
                self.versions[path] = version
        self.marks = (self.marks | writes.marked) - writes.unmarked
        self.snapshot = writes.snapshot


def user_of_client(path: str) -> str | None:
    """The user's znode, for a znode of a user's client id; otherwise None."""
    user, found, _ = path.partition("/clients/")
    return user if found and user.rpartition("/")[0] == paths.USERS else None
