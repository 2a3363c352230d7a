"""An empty remote tier: Kafka has none, and tiered topics require one."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab.jars import classpath
from lab.java import javac

_SOURCES = Path(__file__).parent / "java"


@contextmanager
def empty_tier() -> Iterator[Mapping[str, str]]:
    """The properties that enable it, while its classes exist."""
    with tempfile.TemporaryDirectory(prefix="kconf-tier-") as classes:
        sources = map(str, sorted(_SOURCES.glob("*.java")))
        command = [javac(), "-proc:none", "-nowarn", "-cp", classpath("4.3.1"), "-d", classes, *sources]
        subprocess.run(command, check=True, timeout=300)
        yield {
            "remote.log.storage.system.enable": "true",
            "remote.log.storage.manager.class.name": "EmptyTier",
            "remote.log.storage.manager.class.path": f"{classes}/",
            "remote.log.metadata.manager.class.name": "EmptyTierMetadata",
            "remote.log.metadata.manager.class.path": f"{classes}/",
            "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        }
