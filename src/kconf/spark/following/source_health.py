"""How current the sources of a follower are, and which of them have failed for too long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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


def overdue(clusters: Mapping[str, SourceHealth], since: float, now: float, limit: float) -> list[str]:
    """A sentence for each cluster without a snapshot for longer than `limit` seconds."""
    ages = {name: now - (since if each.succeeded is None else each.succeeded) for name, each in clusters.items()}
    return [
        f"no snapshot of {name} for {age:.0f} s" + (f": {clusters[name].alarm}" if clusters[name].alarm else "")
        for name, age in ages.items()
        if age > limit
    ]
