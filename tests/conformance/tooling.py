"""Runs Kafka's command line tools with the same arguments on kconf and on a real broker.

Exit status, sorted lines of stdout, the first line of stderr and the error class must be equal. Addresses, topic IDs,
times and texts of error messages are not compared (clients use the codes).
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kconf.util.java_properties import read_properties
from lab.broker import KafkaBroker
from lab.tools import Done, ToolServer
from tests.support.process import KconfProcess

_TOPIC_ID = re.compile(r"TopicId: \S+")
_TIME = re.compile(r"^\[[^]]*\] ")
_ERROR = re.compile(r"org\.apache\.kafka\.common\.errors\.(\w+)")
_SAID_BY_THE_SERVER = re.compile(r"(Error while executing topic command : ).*", re.DOTALL)
_PATIENCE = 60.0  # a real broker learns of a change after the controller has acknowledged it


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a command, without values that may differ between servers."""

    status: int
    lines: tuple[str, ...]
    complaint: str  # the first line of stderr
    error: str  # the class of the error that a server sent, or ""


class Pair:
    """A real broker and a kconf with the same server.properties. Command lines begin with `configs` or `topics`."""

    def __init__(self, kafka: KafkaBroker, kconf: KconfProcess) -> None:
        self.kafka, self.kconf = kafka, kconf

    def on_kconf(self, tools: ToolServer, line: str) -> Said:
        return self._normal(_run(tools, self.kconf.bootstrap, line))

    def on_kafka(self, tools: ToolServer, line: str) -> Said:
        return self._normal(_run(tools, self.kafka.bootstrap, line))

    def check(self, tools: ToolServer, line: str) -> Said:
        """Run on both and compare the results. A read waits until the real broker has caught up."""
        ours = self.on_kconf(tools, line)
        deadline = time.monotonic() + (_PATIENCE if _reads(line) else 0)
        while (theirs := self.on_kafka(tools, line)) != ours and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ours == theirs, f"{line} (ours first)"
        return ours

    def _normal(self, done: Done) -> Said:
        out, err = self._anonymous(done.stdout), _TIME.sub("", self._anonymous(done.stderr).strip())
        found = _ERROR.search(err)
        complaint = err.splitlines()[0] if err else ""
        if found is not None:
            out = _SAID_BY_THE_SERVER.sub(r"\1…", out)
            complaint = complaint.split(found[0])[0]
        return Said(done.returncode, tuple(sorted(out.splitlines())), complaint, found[1] if found else "")

    def _anonymous(self, text: str) -> str:
        for address in (self.kconf.bootstrap, self.kafka.bootstrap):
            text = text.replace(address, "ADDRESS")
        return _TOPIC_ID.sub("TopicId: ID", text)


@contextmanager
def pair() -> Iterator[Pair]:
    """Start both, empty."""
    with KafkaBroker("4.3.1") as kafka:
        shared = read_properties(kafka.properties_path.read_text())
        with KconfProcess(properties=shared, node_id=kafka.node_id) as kconf:
            yield Pair(kafka, kconf)


def _run(tools: ToolServer, bootstrap: str, line: str) -> Done:
    tool, *args = shlex.split(line)
    run = {"configs": tools.kafka_configs, "topics": tools.kafka_topics}[tool]
    return run(bootstrap, *args)


def _reads(line: str) -> bool:
    return "--describe" in line or "--list" in line
