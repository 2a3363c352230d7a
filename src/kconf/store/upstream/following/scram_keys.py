"""Reads the SCRAM credentials of a cluster when a gateway starts, since its image does not contain them."""

from __future__ import annotations

import time
from typing import Final

from kconf.client.kraft.follower import LogFollower
from kconf.client.kraft.revisions import STEP_TIMEOUT
from kconf.client.kraft.scram_keys import CredentialSink, ScramKeys
from kconf.client.settings import ClientSettings
from kconf.client.transport.requests import Backoff
from kconf.client.transport.selector.pool import SyncConnectionPool
from kconf.errors import StoreUnavailable
from kconf.store.upstream.following.log_thread import has_log

_WITHIN: Final = 30.0  # seconds


def read_keys(controllers: ClientSettings, cluster: str, sink: CredentialSink) -> None:
    """Read the credentials from the latest snapshot and the log after it. Raises an error if that fails."""
    follower = LogFollower(
        controllers.bootstrap.addresses,
        cluster=cluster,
        attempts=controllers.retries.connect_attempts,
        keys=ScramKeys(sink),
        keys_only=True,
    )
    pool = SyncConnectionPool(controllers)
    deadline = time.monotonic() + _WITHIN
    try:
        is_log = False
        while not is_log or follower.applied < follower.high_watermark:
            if time.monotonic() >= deadline:
                raise StoreUnavailable("the controllers did not serve the metadata log in time")
            step = follower.next_step()
            if isinstance(step, Backoff):
                time.sleep(step.seconds)
            else:
                (reply,) = pool.send_batch([step], time.monotonic() + STEP_TIMEOUT)
                follower.receive(reply)
                is_log = has_log(reply)
    finally:
        pool.close()
