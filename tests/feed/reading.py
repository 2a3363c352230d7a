"""Helpers to read the feed: changes with filters and waits, revisions, the number of waiting readers."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_config_changes import ChangeFilter, ListConfigChangesRequest
from tests.support.admin import SET, TOPIC, Place
from tests.support.process import KconfProcess
from tests.support.wire import Wire

API = BY_NAME["ListConfigChanges"]


def changes(
    wire: Wire, after: int = 0, *, wait: int = 0, lines: int = 1000, filters: Sequence[tuple[int, str | None]] = ()
) -> Any:
    return wire.ask(
        "ListConfigChanges",
        0,
        after=after,
        max_wait_ms=wait,
        max_lines=lines,
        filters=[ChangeFilter(*each) for each in filters],
    )


def question(after: int, *, wait: int, filters: Sequence[tuple[int, str | None]] = (), correlation: int = 1) -> bytes:
    """The same request as a frame, for clients that disconnect after sending it."""
    message = ListConfigChangesRequest(after, wait, 1000, [ChangeFilter(*each) for each in filters])
    return request(API, 0, correlation, "reader", message)


def set_key(
    wire: Wire, name: str, value: str, *, key: str = "segment.ms", expected: int = -1, kind: int = TOPIC, **options: Any
) -> int:
    resource = IncrementalAlterConfigsResource(kind, name, [IncrementalAlterableConfig(key, SET, value)], expected)
    (response,) = wire.ask("IncrementalAlterConfigs", 1, resources=[resource], **options).responses
    code: int = response.error_code
    return code


def revision_of(wire: Wire, *places: Place) -> int:
    """The value of tag 40003."""
    answer = wire.ask("DescribeConfigs", 4, resources=[DescribeConfigsResource(*each) for each in places])
    revision: int = answer.revision
    return revision


def metric(server: KconfProcess, name: str, labels: str = "") -> float:
    assert server.metrics_url is not None
    with urllib.request.urlopen(server.metrics_url, timeout=60) as answer:
        text = answer.read().decode()
    found = re.search(rf"^{name}(?:_total)?{re.escape(labels)} (\S+)$", text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])


def until(condition: Callable[[], bool], seconds: float = 60.0) -> float:
    """Wait for a condition; returns the time it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "it did not come true in time"
        time.sleep(0.01)
    return time.monotonic() - began


def waiting(server: KconfProcess) -> int:
    return int(metric(server, "kconf_waiting_readers"))
