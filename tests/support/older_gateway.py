"""`python -m tests.support.older_gateway serve …`: a gateway whose catalog lacks some keys of the release."""

from __future__ import annotations

import sys
from typing import Final

from kconf.cli.main import main
from kconf.configdef.broker import BROKER
from kconf.configdef.group import GROUP
from kconf.configdef.topic import TOPIC

LACKING: Final = {
    "topic": ("flush.messages", "preallocate", "segment.index.bytes"),
    "broker": ("log.flush.interval.messages", "log.preallocate", "queued.max.requests", "log.cleaner.backoff.ms"),
    "group": ("consumer.session.timeout.ms",),
}


def forget() -> None:
    for kind, table in (("topic", TOPIC), ("broker", BROKER), ("group", GROUP)):
        assert isinstance(table, dict)
        for name in LACKING[kind]:
            del table[name]


if __name__ == "__main__":
    forget()
    sys.exit(main(sys.argv[1:]))
