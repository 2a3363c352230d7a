"""A console over one real Kafka in several ways: through a gateway, followed by the metadata log, and polled.

The context `other` is a kconf server with a topic of the same name, for comparisons. `World.get` is a page as JSON.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from kconf.client.contexts.context import Context
from kconf.console.run import console_in_thread
from kconf.console.settings import ConsoleSettings, ListenAddress
from kconf.operations.target import Target
from lab.broker import KafkaBroker
from tests.support.process import KconfProcess

PATIENCE = 60.0
POLICY = """\
version: 1
rules:
  - id: two-days
    selector: {{type: topic, name: "{name}*"}}
    key: retention.ms
    condition: {{min: 2d}}
    severity: warn
    message: these topics are kept for two days
"""
DECLARED = """\
version: 1
topics:
  {name}-declared-{context}:
    partitions: 1
    replication: 1
    configs: {{retention.ms: 8d}}
"""


@dataclass(frozen=True)
class World:
    """`name` is the beginning of the names of all topics of the test."""

    url: str
    kafka: KafkaBroker
    gateway: KconfProcess
    journaled: Target
    """Its clients record in a journal directory what they change."""
    name: str

    def ask(self, path: str) -> tuple[int, dict[str, Any]]:
        """A page as JSON, and its status."""
        request = urllib.request.Request(f"{self.url.rstrip('/')}{path}", headers={"accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path: str, until: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """A page as JSON, as soon as it is as wanted."""
        end = time.monotonic() + PATIENCE
        while True:
            status, found = self.ask(path)
            if status == 200 and until(found):
                return found
            assert time.monotonic() < end, found
            time.sleep(0.1)


@contextmanager
def console_world(kafka: KafkaBroker, folder: Path) -> Iterator[World]:
    name = f"console-{uuid4().hex[:8]}"
    controllers = kafka.address("CONTROLLER")
    policy = folder / "policy.yaml"
    policy.write_text(POLICY.format(name=name))
    with ExitStack() as stack:
        followed = ("--upstream", kafka.bootstrap, "--controllers", controllers)
        polled = ("--upstream", kafka.bootstrap, "--override", "gateway.poll.interval.ms=1000")
        gateway, polling, other = (stack.enter_context(KconfProcess(args=args)) for args in (followed, polled, ()))
        contexts = [
            Context("gateway", gateway.bootstrap, policy=str(policy)),
            Context("followed", kafka.bootstrap, controllers=controllers, policy=str(policy)),
            Context("polled", kafka.bootstrap, policy=str(policy)),
            Context("polling-gateway", polling.bootstrap),
            Context("journaled", kafka.bootstrap, journal=str(folder / "journal")),
            Context("other", other.bootstrap),
        ]
        files: dict[str, Sequence[str]] = {}
        for each in contexts:
            path = folder / f"{each.name}.yaml"
            path.write_text(DECLARED.format(name=name, context=each.name))
            files[each.name] = [str(path)]
        listen = ListenAddress("127.0.0.1", 0)
        settings = ConsoleSettings(listen, [Target(each) for each in contexts], interval=1.0, files=files)
        fill(other.bootstrap, f"{name}-orders", {"retention.ms": "604800000", "segment.ms": "3600000"})
        running = stack.enter_context(console_in_thread(settings))
        journaled = next(Target(each) for each in contexts if each.name == "journaled")
        yield World(running.url, kafka, gateway, journaled, name)


def fill(bootstrap: str, topic: str, configs: dict[str, str]) -> None:
    """A new topic with configs, made without the console."""
    with SyncAdminClient(bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 1, 1, configs=list(configs.items()))]).raise_for_failures()


def alter(bootstrap: str, topic: str, key: str, value: str) -> None:
    with SyncAdminClient(bootstrap) as admin:
        requested = {Resource.topic(topic): [AlterConfigOp(OpType.SET, key, value)]}
        admin.incremental_alter_configs(requested).raise_for_failures()


def value(bootstrap: str, topic: str, key: str) -> str | None:
    """What the cluster itself says."""
    resource = Resource.topic(topic)
    with SyncAdminClient(bootstrap) as admin:
        return admin.describe_configs([resource])[resource][key].value
