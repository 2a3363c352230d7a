"""`python -m tests.support.crashing_gateway STEP serve …`: a gateway that kills itself in its second change, at a step.

planned    before the intent is written
intended   after the intent is written, before the request is sent
sent       after the request is sent, before its response is read
answered   after the response was read, before the log is
logged     after the record was read from the log, or the change by a poll, before it is in the journal
closed     after record and outcome are in the journal, before the client gets its response
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from kconf.cli.main import main
from kconf.client.transport.selector.connection import SyncNodeConnection
from kconf.store.upstream.following.log_thread import LogThread
from kconf.store.upstream.journal import GatewayJournal
from kconf.store.upstream.polling.poller import Poller
from kconf.store.upstream.sender import Sender

STEPS: Final = ("planned", "intended", "sent", "answered", "logged", "closed")
_CHANGE: Final = 2


class _Crash:
    """Kills the process at `step` of its second change."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._changes = 0

    def reached(self, step: str) -> None:
        if step == STEPS[0]:
            self._changes += 1
        if step == self._step and self._changes == _CHANGE:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: Any, name: str, before: str | None, after: str) -> None:
        """Wrap a function with a step before and a step after it."""
        original: Callable[..., Any] = getattr(owner, name)

        def wrapped(*words: Any, **named: Any) -> Any:
            if before is not None:
                self.reached(before)
            found = original(*words, **named)
            self.reached(after)
            return found

        setattr(owner, name, wrapped)


def _install(step: str) -> None:
    crash = _Crash(step)
    crash.around(GatewayJournal, "add_intents", "planned", "intended")
    send: Callable[..., Any] = SyncNodeConnection.send

    def sent(connection: SyncNodeConnection, request: Any, handle: int) -> None:
        send(connection, request, handle)
        if not request.call.repeatable:
            crash.reached("sent")

    SyncNodeConnection.send = sent  # type: ignore[assignment,method-assign]
    crash.around(Sender, "send", None, "answered")
    for source in (LogThread, Poller):
        crash.around(source, "wait_for", None, "logged")
    crash.around(GatewayJournal, "append", None, "closed")


if __name__ == "__main__":
    _install(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
