"""The bounds within which a recorded request and a record of a KRaft cluster's metadata log may belong together.

A request that has the offsets of the log before and after it needs none of them. Others have only times, of two clocks:
the client's, and that of the controller. If these differ by more than the bound, the author of a change stays unknown.
"""

from __future__ import annotations

from typing import Final

CLOCK_SKEW: Final = 1000
"""Milliseconds by which the clocks of a client and of a controller may differ."""
LONGEST_CALL: Final = 60_000
"""Milliseconds that a request may take, where the journal does not have the time of its response."""
NOT_IN_LOG: Final = ("broker-logger",)
"""The types of resources that a metadata log does not have, as words of the journal."""
