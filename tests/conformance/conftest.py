"""Real brokers, tools and Java clients for the conformance tests; see lab/pytest_plugin.py.

`beside` is a real broker and a kconf with the same server.properties, for tests that run the same commands on both.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.tools import ToolServer
from tests.conformance.tooling import Pair, pair
from tests.support.targets import one_of


def pytest_addoption(parser: pytest.Parser) -> None:
    lab = parser.getgroup("differential lab")
    lab.addoption("--differential-requests", type=int, default=2000, metavar="N", help="ask at least N requests")
    lab.addoption("--differential-scenario", metavar="NAME", help="play one scenario, by its name in a report")


@pytest.fixture(scope="session")
def beside() -> Iterator[Pair]:
    with pair() as both:
        yield both


@pytest.fixture(scope="module")
def own_tools() -> Iterator[ToolServer]:
    """Tools in their own JVM: some leave a client open, which prints into the output of later ones."""
    with ToolServer() as tools:
        yield tools


@pytest.fixture(params=one_of("4.3.1", ["3.9.2"]))
def tool_server(request: pytest.FixtureRequest) -> ToolServer:
    """The command line tools of the newest release, and of the last 3.x release."""
    server: ToolServer = request.getfixturevalue("tools" if request.param == "4.3.1" else "tools_392")
    return server
