"""Pages of the docs with `with: kafka` are run against a real broker."""

from __future__ import annotations

import pytest

from lab.broker import KafkaBroker
from tests.docs.blocks import pages
from tests.docs.running import reader

PAGES = {page.name: page for page in pages() if page.needs == "kafka"}


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_work_with_a_real_kafka(name: str) -> None:
    """Each has its own broker, because a page may show an empty cluster."""
    with KafkaBroker() as broker, reader(PAGES[name], p9092=broker.bootstrap) as someone:
        someone.read()
