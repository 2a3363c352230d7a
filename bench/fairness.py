"""The effect on other clients of a caller without any rights that sends requests of maximum size.

The other clients are a reader, which describes one topic every 5 ms, and a writer, which alters one key after the
other. The caller without rights logs in with SASL and sends one request repeatedly, on one connection, then on ten. A
delay is measured from the scheduled time of a request: a server that stops for a second delays 200 requests, not one.
"""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench import load, requests
from bench.alter import Alters
from bench.arena import Arena, Watch, main
from bench.load import BenchError, Shape
from bench.table import Goal, Row
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, request
from kconf.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlteredQuota, QuotaOp
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kconf.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.process import KconfProcess

TOPIC, BROKER = 2, 4
INTERVAL = 0.005  # seconds between two requests of the reader
CROWD = 10  # connections of the caller without rights
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_mallory="secret";'
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "plain.sasl.jaas.config": _JAAS,
}
ALTERS = Alters(1, "bench-fair")
P99, MAX, PART = Goal("most", 0.1, "≤ 100 ms"), Goal("most", 0.3, "≤ 300 ms"), Goal("least", 0.5, "≥ 0.5")


def rows(arena: Arena) -> Iterator[Row]:
    if "kconf" not in arena.names:
        return
    seconds = max(arena.settings.seconds, 1.0)
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
    for name, frame in LARGE.items():
        # a separate server for each: leftover requests of disconnected callers would slow down the next writer
        with KconfProcess(properties=PROPERTIES, listeners=listeners) as server:
            requests.create_topics(server.address("PLAINTEXT"), ALTERS.topics, requests.OVERRIDES)
            alone = _bystanders(server, seconds)
            yield Row("reader alone, longest wait", "ms", {"kconf": [alone.longest]}, less_is_better=True)
            yield Row("writer alone", "/s", {"kconf": [alone.writes]}, others=alone.others)
            for callers in (1, CROWD):
                with _callers(server, frame(), callers) as answered:
                    beside = _bystanders(server, seconds)
                    done = answered()
                yield from _rows(f"{name} × {callers}", alone, beside, done)


def _rows(name: str, alone: Bystanders, beside: Bystanders, answered: int) -> Iterator[Row]:
    notes, others = {"responses to the caller": answered}, beside.others
    p99, longest, part = ({"kconf": [each]} for each in (beside.p99, beside.longest, beside.writes / alone.writes))
    yield Row(f"{name}: reader's wait, p99", "ms", p99, [P99], less_is_better=True, others=others, notes=notes)
    yield Row("… its longest wait", "ms", longest, [MAX], less_is_better=True, others=others)
    yield Row("… writer, as a fraction of the writer alone", "×", part, [PART], others=others)


# -- other clients


@dataclass(frozen=True, slots=True)
class Bystanders:
    p99: float  # the reader's delays in seconds
    longest: float
    writes: float  # per second
    others: float  # cores used by other processes


def _bystanders(server: KconfProcess, seconds: float) -> Bystanders:
    address = server.address("PLAINTEXT")
    here, there = multiprocessing.Pipe()
    with Watch([server]) as watch:
        writer = load.start(address, ALTERS.frames, Shape(1, 1), seconds=seconds, warm_up=0.5)
        reader = multiprocessing.get_context("fork").Process(target=_read, args=(address, seconds + 0.5, there))
        reader.start()
        waits: Sequence[float] = here.recv()
        reader.join()
        written = writer.result()
    return Bystanders(statistics.quantiles(waits, n=100)[98], max(waits), written.rate, watch.others)


def _read(address: str, seconds: float, result: Connection) -> None:
    """In a separate process: the delay of each request."""
    question = requests.describe([ALTERS.topics[0]])
    waits: list[float] = []
    with _Line(address) as line:
        due = began = time.monotonic()
        while due < began + seconds:
            time.sleep(max(due - time.monotonic(), 0))
            line.ask(question)
            waits.append(time.monotonic() - due)
            due += INTERVAL
    result.send(waits)


# -- the caller without rights


@contextmanager
def _callers(server: KconfProcess, frame: bytes, count: int) -> Iterator[Callable[[], int]]:
    """Open this many connections that send the same request; yields a counter of responses."""
    answers = [0] * count
    over = threading.Event()
    lines = [_Line(server.address("SASL_PLAINTEXT")) for _ in range(count)]

    def send(number: int) -> None:
        try:
            while True:
                lines[number].ask(frame)
                answers[number] += 1
        except (OSError, BenchError):
            if not over.is_set():
                raise

    for line in lines:
        line.log_in()
    threads = [threading.Thread(target=send, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    try:
        time.sleep(0.2)
        yield lambda: sum(answers)
    finally:
        over.set()
        for line in lines:
            line.close()
        for each in threads:
            each.join()


class _Line:
    """A connection that waits for each response and does not decode it."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, even while another thread waits for a response."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def log_in(self) -> None:
        self.ask(request(BY_NAME["SaslHandshake"], 1, 0, None, SaslHandshakeRequest("PLAIN")))
        self.ask(request(BY_NAME["SaslAuthenticate"], 1, 0, None, SaslAuthenticateRequest(b"\0mallory\0secret")))

    def ask(self, question: bytes) -> None:
        self._socket.sendall(question)
        left: int = LENGTH.unpack(self._exactly(4))[0]
        while left:
            data = self._socket.recv(min(left, 1 << 20))
            if not data:
                raise BenchError("The server closed a connection.")
            left -= len(data)

    def _exactly(self, count: int) -> bytes:
        data = self._socket.recv(count, socket.MSG_WAITALL)
        if len(data) < count:
            raise BenchError("The server closed a connection.")
        return data


# -- requests at their limits


def _frame(name: str, version: int, message: object) -> bytes:
    return request(BY_NAME[name], version, 0, "mallory", message)


def _names(count: int) -> list[str]:
    return [f"t{number:06}" for number in range(count)]


def _altered(resources: Sequence[tuple[int, str, int]]) -> bytes:
    """Resources with this many keys each."""
    keys = [IncrementalAlterableConfig(name, 0, "1") for name in _names(max(count for _, _, count in resources))]
    altered = [IncrementalAlterConfigsResource(kind, name, keys[:count]) for kind, name, count in resources]
    return _frame("IncrementalAlterConfigs", 1, IncrementalAlterConfigsRequest(altered))


LARGE: dict[str, Callable[[], bytes]] = {
    "create 200,000 topics": lambda: _frame(
        "CreateTopics",
        7,
        CreateTopicsRequest([CreatableTopic(name, 1, 1, (), ()) for name in _names(200_000)]),
    ),
    "alter 130,000 topics": lambda: _altered([(TOPIC, name, 1) for name in _names(130_000)]),
    "delete 250,000 topics": lambda: _frame(
        "DeleteTopics", 5, DeleteTopicsRequest(topics=(), topic_names=_names(250_000), timeout_ms=60_000)
    ),
    "alter 250,000 keys of a broker": lambda: _altered([(BROKER, "1", 250_000)]),
    "Metadata of 250,000 topics": lambda: _frame(
        "Metadata", 12, MetadataRequest([MetadataRequestTopic(name=name) for name in _names(250_000)])
    ),
    "describe 250,000 topics": lambda: _frame(
        "DescribeConfigs",
        BY_NAME["DescribeConfigs"].max,
        DescribeConfigsRequest([DescribeConfigsResource(TOPIC, name) for name in _names(250_000)]),
    ),
    "add partitions to 250,000 topics": lambda: _frame(
        "CreatePartitions",
        3,
        CreatePartitionsRequest([CreatePartitionsTopic(name, 2, None) for name in _names(250_000)], 60_000),
    ),
    "alter 80,000 quotas": lambda: _frame(
        "AlterClientQuotas",
        1,
        AlterClientQuotasRequest(
            [
                AlteredQuota([QuotaEntityPart("user", name)], [QuotaOp("producer_byte_rate", 1.0, False)])
                for name in _names(80_000)
            ],
            False,
        ),
    ),
}


if __name__ == "__main__":
    main(rows)
