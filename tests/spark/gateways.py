"""Archives of several gateways and of a follower, for the same clusters, as they write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kconf.client.kraft.archive import LogArchive
from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.follower import LogChanges
from kconf.client.kraft.image import MetadataImage
from kconf.errors import ErrorCode
from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.resource import Resource
from kconf.server.journal.archive import Archive
from kconf.store.upstream.journal import GatewayJournal

NOON = 1_700_000_000_000
ORDERS = Resource.topic("orders")


def logged(number: int) -> Revision:
    """A record as any follower reads it."""
    change = Change(ChangeKind.CONFIG, ORDERS, "retention.ms", str(number - 1), str(number), "set")
    return Revision(number, NOON + 1000 * number, RequestContext(""), (change,), "log")


def through(user: str, number: int) -> Revision:
    """The same record as read by the gateway that made the change."""
    return replace(logged(number), caller=RequestContext(f"User:{user}", reason=f"ticket {number}"), origin="kconf")


def archive_gateway(directory: Path, cluster: str, revisions: Sequence[Revision]) -> None:
    """Write files like `kconf serve --upstream --archive`."""
    directory.mkdir(parents=True)
    journal = GatewayJournal(f"sqlite:///{directory / 'gw.db'}", cluster)
    journal.begin_at(10)
    journal.append(revisions)
    caller = RequestContext("User:eve", client_id=directory.name)  # files with the same bytes are read once
    refused = AuditEntry(NOON, caller, 10, ORDERS, (), ErrorCode.POLICY_VIOLATION, False)
    journal.append_attempts([refused])
    archive = Archive(directory / "archive", cluster, 1, journal.reader(), of_gateway=True)
    archive.open(revisions[-1].number)
    archive.catch_up()
    archive.close()
    journal.close()


def archive_follower(directory: Path, cluster: str, revisions: Sequence[Revision]) -> None:
    """Write files like `kconf follow --archive`."""
    archive = LogArchive(directory, cluster)
    archive.open()
    end = revisions[-1].number + 1
    archive.add([LogChanges(3, end, revisions)])
    archive.flush(Checkpoint(cluster, end, 3, MetadataImage()))
    archive.close()


def archive_all(first: Path, second: Path) -> None:
    """Cluster `followed` has two gateways and a follower, `pair` two gateways, and `alone` one."""
    one = [through("alice", 11), logged(12), logged(13), through("alice", 14)]
    two = [logged(11), through("bob", 12), logged(13), logged(14)]
    archive_gateway(first / "two", "followed", two)
    archive_gateway(first / "five", "alone", [through("alice", 11), through("alice", 14)])
    archive_gateway(second / "one", "followed", one)
    archive_follower(second / "follower", "followed", [logged(number) for number in range(11, 15)])
    archive_gateway(second / "three", "pair", one)
    archive_gateway(second / "four", "pair", two)


TOGETHER = [
    ("11", "User:alice", "kconf"),
    ("12", "User:bob", "kconf"),
    ("13", "", "outside"),
    ("14", "User:alice", "kconf"),
]
CHANGES = {"followed": TOGETHER, "pair": TOGETHER, "alone": [TOGETHER[0], TOGETHER[3]]}
"""The value, author and origin of each change, once."""
ATTEMPTS = 5
"""One of each gateway."""
