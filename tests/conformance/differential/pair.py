"""A real broker and a kconf with the same server.properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kconf.keys.properties import read_properties
from lab.broker import KafkaBroker
from tests.conformance.differential.duel import Duel
from tests.conformance.differential.side import Side
from tests.support.process import KconfProcess


@contextmanager
def duel(properties: Mapping[str, str] | None = None, *, version: str = "4.3.1") -> Iterator[Duel]:
    """Both, fresh and empty; `properties` has the last word in the file that they share."""
    with KafkaBroker(version, properties=properties) as broker:
        shared = read_properties(broker.properties_path.read_text())
        with KconfProcess(properties=shared, node_id=broker.node_id) as process:
            pair = Duel(Side("kafka", broker.host, broker.port), Side("kconf", process.host, process.port))
            try:
                yield pair
            finally:
                pair.close()
