"""/metrics and /health: correct values, and bad requests do no harm."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.version import __version__
from tests.adversity.alterations import altering, create, describing, topic
from tests.adversity.lines import Line, complaints, descriptors
from tests.support.process import KconfProcess


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    with KconfProcess(args=["--metrics", "127.0.0.1:0"]) as process:
        with Line(process) as line:
            create(line, "orders")
        yield process
        assert complaints(process) == []


def _get(kconf: KconfProcess, path: str) -> bytes:
    assert kconf.metrics_url is not None
    with urllib.request.urlopen(kconf.metrics_url.replace("/metrics", path), timeout=60) as answer:
        body: bytes = answer.read()
    return body


def _figures(kconf: KconfProcess) -> dict[str, float]:
    """Every sample by name, and by API if it has one."""
    families = text_string_to_metric_families(_get(kconf, "/metrics").decode())
    return {
        sample.name + (f"/{sample.labels['api']}" if "api" in sample.labels else ""): sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics_count_requests_connections_and_changes(kconf: KconfProcess) -> None:
    before = _figures(kconf)
    with Line(kconf) as line:
        for _ in range(5):
            line.send(describing(topic("orders")))
            line.receive()
        line.ask("ApiVersions", 4, ApiVersionsRequest("test", "1"))
        line.send(altering({topic("orders"): {"retention.ms": "77", "segment.ms": "77"}, topic("none"): {"x": "y"}}))
        line.receive()
        create(line, "more")
        with Line(kconf) as bad:
            bad.send(b"\xff" * 8)
            assert bad.is_closed()
        after = _figures(kconf)

    moved = {name: after[name] - before.get(name, 0) for name in after if name.startswith("kconf_")}
    expected = {
        "kconf_requests_total/DescribeConfigs": 5,
        "kconf_requests_total/ApiVersions": 1,
        "kconf_requests_total/IncrementalAlterConfigs": 1,
        "kconf_requests_total/CreateTopics": 1,
        "kconf_connections_total": 2,
        "kconf_open_connections": 1,
        "kconf_invalid_requests_total": 1,
        "kconf_request_failures_total": 0,
        "kconf_failed_commits_total": 0,
        "kconf_commits_total": 2,
        "kconf_changes_total": 3,
        "kconf_revision": 2,
        "kconf_topics": 1,
    }
    assert {name: moved[name] for name in expected} == expected
    assert (after["kconf_request_failures_total"], after["kconf_failed_commits_total"]) == (0, 0)
    assert after["process_open_fds"] > 0


def test_health_shows_version_node_store_and_cluster(kconf: KconfProcess) -> None:
    health = json.loads(_get(kconf, "/health"))

    assert health["status"] == "ok"
    assert health["version"] == __version__
    assert health["node"] == 1
    assert health["store"] == kconf.store
    assert health["revision"] >= 1
    assert len(health["cluster"]) == 22


@pytest.mark.parametrize(
    ("path", "method", "status"), [("/", "GET", 404), ("/metricsx", "GET", 404), ("/metrics", "POST", 405)]
)
def test_other_paths_and_methods_are_refused(kconf: KconfProcess, path: str, method: str, status: int) -> None:
    assert kconf.metrics_url is not None
    asked = urllib.request.Request(kconf.metrics_url.replace("/metrics", path), method=method)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=60)

    assert refused.value.code == status


def test_a_query_string_in_the_path_is_ignored(kconf: KconfProcess) -> None:
    assert b"kconf_revision" in _get(kconf, "/metrics?debug=1")


@pytest.mark.parametrize(
    "said",
    [b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\x00\xff" * 4096, b"GET /" + b"x" * 100_000, b"GET /metrics HTTP/1.1\r\n" * 5],
    ids=["nothing", "an empty line", "no path", "noise", "a long path", "no end"],
)
def test_health_is_ok_after_bad_requests(kconf: KconfProcess, said: bytes) -> None:
    assert kconf.metrics_url is not None
    where = urlsplit(kconf.metrics_url)
    with socket.create_connection((where.hostname, where.port or 0), timeout=60) as line:
        try:
            line.sendall(said)
            line.shutdown(socket.SHUT_WR)
            line.recv(65536)
        except ConnectionError:
            pass

    assert json.loads(_get(kconf, "/health"))["status"] == "ok"


def test_idle_connections_of_the_metrics_port_are_closed(kconf: KconfProcess) -> None:
    assert kconf.metrics_url is not None
    where = urlsplit(kconf.metrics_url)
    before = descriptors(kconf)
    with socket.create_connection((where.hostname, where.port or 0), timeout=60) as line:
        line.sendall(b"GET /metrics")

        assert line.recv(100) == b""
    assert descriptors(kconf) <= before
