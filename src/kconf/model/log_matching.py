"""Limits for matching a client's recorded request with a record in a KRaft cluster's metadata log.

They are not needed for a request that was recorded with log offsets. Others are matched by time, with two clocks: the
client's and the controller's. If they differ by more than the limit, the author of a change is unknown.
"""

from __future__ import annotations

from typing import Final

CLOCK_SKEW: Final = 1000
"""Milliseconds by which the clocks of a client and of a controller may differ."""
LONGEST_CALL: Final = 60_000
"""Milliseconds that a request may take, if the journal does not contain the time of its response."""
NOT_IN_LOG: Final = ("broker-logger",)
"""Resource types that are not in a metadata log, as named in the journal."""
