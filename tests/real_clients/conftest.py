"""A real server for each test file, and a unique topic name for each test.

The static configs have a password, as a sensitive value, and `log.retention.ms`, so that a topic key has a chain of
synonyms. Tests that change values which all topics inherit use `own_server`, which no other test shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.process import KconfProcess

STATIC = {"ssl.truststore.password": "a-secret", "log.retention.ms": "3600000", "auto.create.topics.enable": "false"}


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess(properties=STATIC) as process:
        yield process


@pytest.fixture
def own_server() -> Iterator[KconfProcess]:
    with KconfProcess(properties=STATIC) as process:
        yield process


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A unique topic name."""
    return re.sub(r"[^A-Za-z0-9-]", "-", request.node.name)[:200]
