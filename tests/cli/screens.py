"""The output of commands on a terminal of 80 columns; `python -m tests.cli.screens` writes it to screens.txt.

Review every change of screens.txt. Values that differ between runs are replaced.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.process import KconfProcess, free_port
from tests.support.terminal import Terminal

GOLDEN = Path(__file__).with_name("screens.txt")
SESSION = """\
kconf
kconf nonsense
kconf topic destroy
kconf topics list
kconf set topic:orders --nope
kconf context add here -b SERVER
kconf context add prod -b kafka.example.com:9092 --protected --label env=prod
kconf context list
kconf topic create orders --partitions 6 --config retention.ms=7d --config min.insync.replicas=1
kconf topic create orders
kconf topic create payments.card-authorisations payments.refunds --yes
kconf topic list
kconf describe topic:orders
kconf describe topic:nowhere
kconf describe topic:orders --key retention
kconf topic list --where 'retention.ms>3d' --where partitions=6
kconf set orders retention.ms=7d
kconf describe topc:orders
kconf set topic:orders retenton.ms=7d
kconf quota set --user alice producer_byte_rate=1MB/s
kconf history orders
kconf rollback topic:orders
kconf describe topic:payments.refunds --all
kconf set topic:orders retention.ms=a-week
kconf set topic:orders segment.bytes=1
kconf set topic:orders retention.ms=1h --dry-run
kconf set topic:orders retention.ms=1h
kconf set topic:orders retention.ms=14d --reason 'the auditors want to look back for two weeks'
kconf append topic:orders cleanup.policy=compact --allow-risk data-loss,compaction
kconf set broker:default log.retention.ms=3d --yes --allow-data-loss
kconf describe brokers
kconf quota set --user-default producer_byte_rate=1MiB --yes
kconf quota set --user alice producer_byte_rate=10MiB
kconf quota explain --user alice --client-id app producer_byte_rate
kconf quota list
kconf history
kconf blame topic:orders
kconf diff topic:orders quota --from 1h
kconf rollback topic:orders --to 1 --dry-run
kconf export topic:orders quota
kconf explain retention.ms
kconf acl list
kconf lake drift
kconf describe topic:orders -b 127.0.0.1:CLOSED
kconf set topic:orders retention.ms=1h -C prood
"""
CHANGING = (
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "2026-11-15"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "09:30:00"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{5}\b"), "99999"),
)


def screens(directory: Path) -> Iterator[str]:
    """Each command of the session with its output."""
    with KconfProcess() as server:
        for line in SESSION.splitlines():
            typed = line.replace("SERVER", server.bootstrap).replace("CLOSED", str(free_port()))
            yield f"$ {_lasting(line)}\n{_lasting(_shown(typed, directory))}\n"


def _shown(line: str, directory: Path) -> str:
    environment = {
        "NO_COLOR": "1",
        "HOME": str(directory),
        "KCONF_CONFIG": str(directory / "kconf.yaml"),
        "LC_ALL": "C.UTF-8",
    }
    with Terminal(
        [sys.executable, "-m", "kconf", *shlex.split(line)[1:]], columns=80, environment=environment
    ) as screen:
        status = screen.end()
    shown = screen.screen.replace("\r\n", "\n").replace(str(directory), "~")
    return shown + (f"[exit {status}]\n" if status else "")


def _lasting(text: str) -> str:
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text("".join(screens(Path(place))), "utf-8")
