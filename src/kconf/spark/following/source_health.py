"""How current the sources of a follower are, and which of them have failed for too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.spark.following.feed_copy import FeedCopy


@dataclass
class SourceHealth:
    """A live source. `succeeded` is the clock's time of the last success; None: never."""

    name: str
    succeeded: float | None = None
    alarm: str | None = None

    def works(self, now: float) -> None:
        self.succeeded, self.alarm = now, None

    def shown(self, now: float) -> dict[str, object]:
        """For /health."""
        age = None if self.succeeded is None else round(now - self.succeeded, 1)
        return {"seconds_since_success": age, "alarm": self.alarm}


def copied_until(feeds: Sequence[FeedCopy], started: float) -> float | None:
    """The time until which the copies have all changes; None without feeds.

    Of several servers of one cluster, one is copied. A server that was never reached may belong to another cluster.
    """
    clusters: dict[str, float] = {}
    for each in feeds:
        cluster = f"server {each.name}" if each.cluster is None else f"cluster {each.cluster}"
        until = started if each.current_at is None else each.current_at
        clusters[cluster] = max(clusters.get(cluster, until), until)
    return min(clusters.values(), default=None)


def overdue(clusters: Mapping[str, SourceHealth], since: float, now: float, limit: float) -> list[str]:
    """A sentence for each cluster without a snapshot for longer than `limit` seconds."""
    ages = {name: now - (since if each.succeeded is None else each.succeeded) for name, each in clusters.items()}
    return [
        f"no snapshot of {name} for {age:.0f} s" + (f": {clusters[name].alarm}" if clusters[name].alarm else "")
        for name, age in ages.items()
        if age > limit
    ]
