"""How many times and after which delay a client retries."""

from __future__ import annotations

from typing import Final, NamedTuple

_MAX_DOUBLINGS: Final = 20


class RetryPolicy(NamedTuple):
    """`backoff` is the first delay in seconds. It doubles with each failure up to `backoff_max`, ± 20 % (KIP-580).

    If a cluster never responds, the client gives up after trying all bootstrap addresses `connect_attempts` times.
    If it has responded before, a call is retried until its timeout, or until no connection was possible
    `lost_attempts` times.
    """

    connect_attempts: int = 3
    backoff: float = 0.1
    backoff_max: float = 1.0
    lost_attempts: int | None = None

    def delay(self, failures: int, jitter: float) -> float:
        """Seconds to wait after a number of consecutive failures. `jitter` is a number from 0 to 1."""
        doubled: int = 2 ** min(failures - 1, _MAX_DOUBLINGS)
        return min(self.backoff * doubled, self.backoff_max) * (0.8 + 0.4 * jitter)


def random_jitter() -> float:
    from random import random  # a local import, needed only to wait

    return random()
