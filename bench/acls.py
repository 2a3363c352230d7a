"""The cost of security: decisions with 10,000 ACLs, describes by an authorized user, and many idle connections.

`python -m bench.acls`. Decisions are measured in this process, in processor time; the rest on a separate kconf. Medians
of rounds; the idle connections are opened between the two halves of the last row.
"""

from __future__ import annotations

import argparse
import resource
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from random import Random

from bench import machine
from bench.load import BenchError
from kconf import AclBinding, AclType, Operation, PatternType, SyncAdminClient
from kconf.engine.access.acls import AclIndex, Authorizer, key_of, pattern_of
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, request
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from tests.support.process import HOST, KconfProcess
from tests.support.wire import Wire

ACLS = 10_000
IDLE = 10_000
ASKED = 20_000
ME, HERE = "User:alice", "127.0.0.1"
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "plain.sasl.jaas.config": _JAAS,
}


def drawn(count: int) -> list[AclBinding]:
    """Half literal, half prefixed with 30 lengths; many principals, and a few hundred ACLs of the caller."""
    dice = Random(7)
    found: dict[AclBinding, None] = {}
    while len(found) < count:
        number = dice.randrange(count)
        name = f"team-{number % 97:02}.service-{number % 1009:04}.topic-{number:05}"
        prefixed = dice.random() < 0.5
        binding = AclBinding(
            AclType.TOPIC,
            name[: dice.randrange(3, 33)] if prefixed else name,
            ME if dice.random() < 0.05 else f"User:u{dice.randrange(500)}",
            dice.choice((Operation.READ, Operation.WRITE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)),
            pattern=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        )
        found[binding] = None
    return list(found)


def decide(count: int, rounds: int) -> tuple[float, float]:
    """Processor time of one decision in µs: the first one, and a repeated one."""
    index = AclIndex()
    patterns: dict[object, list[AclBinding]] = {}
    for each in drawn(count):
        patterns.setdefault(pattern_of(each), []).append(each)
    for same in patterns.values():
        index.replace(pattern_of(same[0]).resource, {key_of(each): "" for each in same})
    names = [f"team-{n % 97:02}.service-{n % 1009:04}.topic-{n:05}" for n in Random(8).sample(range(count), count)]
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        authorizer = Authorizer(index)
        for figures in taken:
            began = time.process_time()
            for name in names:
                authorizer.allows(ME, HERE, Operation.DESCRIBE_CONFIGS, AclType.TOPIC, name)
            figures.append((time.process_time() - began) / len(names))
    first, again = (statistics.median(each) * 1e6 for each in taken)
    return first, again


class Line(Wire):
    """Describes one topic repeatedly."""

    def login(self) -> None:
        self.ask("SaslHandshake", 1, mechanism="PLAIN")
        if self.ask("SaslAuthenticate", 1, auth_bytes=b"\0alice\0secret").error_code:
            raise BenchError("The login failed.")

    def describe(self, times: int) -> list[float]:
        """The seconds of each request, one after the other."""
        row = BY_NAME["DescribeConfigs"]
        question = request(row, 4, 1, "bench", row.request(resources=[DescribeConfigsResource(2, "bench", None)]))
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            self._socket.sendall(question)
            (size,) = LENGTH.unpack(self._exactly(4))
            self._exactly(size)
            taken.append(time.perf_counter() - began)
            if size < 1000:
                raise BenchError("The topic was not described.")
        return taken


def as_user(server: KconfProcess, rounds: int) -> dict[str, float]:
    """The server's processor time per describe in µs: as super user, and with one matching ACL among many."""
    made: dict[str, list[float]] = {"super user": [], "by ACL": []}
    with Line(server.address("PLAINTEXT")) as free, Line(server.address("SASL_PLAINTEXT")) as bound:
        bound.login()
        for _ in range(rounds):
            for name, line in (("super user", free), ("by ACL", bound)):
                made[name].append(_used(server, lambda line=line: line.describe(10_000)) / 10_000)  # type: ignore[misc]
    return {name: statistics.median(each) * 1e6 for name, each in made.items()}


def _used(server: KconfProcess, work: Callable[[], object]) -> float:
    before = machine.cpu_seconds(server.pid)
    work()
    return machine.cpu_seconds(server.pid) - before


def crowd(server: KconfProcess, rounds: int) -> dict[str, Sequence[float]]:
    """Latencies of one busy connection in µs (median, 99th percentile): alone, and with the idle ones."""
    with Line(server.address("PLAINTEXT")) as line, ExitStack() as stack:
        alone = line.describe(2_000 * rounds)
        port = int(server.address("PLAINTEXT").rpartition(":")[2])
        for number in range(IDLE):
            source = (f"127.0.0.{2 + number % 4}", 0)
            stack.enter_context(socket.create_connection((HOST, port), 30, source_address=source))
        line.describe(100)
        beside = line.describe(2_000 * rounds)
    return {"alone": _figures(alone), f"with {IDLE:,} idle connections": _figures(beside)}


def _figures(taken: Sequence[float]) -> Sequence[float]:
    cuts = statistics.quantiles(taken, n=100)
    return cuts[49] * 1e6, cuts[98] * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what security costs.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for count in (100, ACLS, ACLS * 10):
        first, again = decide(count, rounds)
        print(f"one decision among {count:,} ACLs: {first:.2f} µs, repeated {again:.2f} µs")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with KconfProcess(properties=PROPERTIES, listeners=("PLAINTEXT", "SASL_PLAINTEXT")) as server:
        with SyncAdminClient(server.address("PLAINTEXT")) as admin:
            admin.create_topics(["bench"]).raise_for_failures()
            mine = AclBinding(AclType.TOPIC, "bench", ME, Operation.DESCRIBE_CONFIGS)
            admin.create_acls([*drawn(ACLS), mine]).raise_for_failures()
        for name, micros in as_user(server, rounds).items():
            print(f"describe one topic, {name}, {ACLS:,} ACLs: {micros:.1f} µs of the server's processor")
        for name, (middle, late) in crowd(server, rounds).items():
            print(f"one busy connection, {name}: p50 {middle:.0f} µs, p99 {late:.0f} µs")


if __name__ == "__main__":
    main()
