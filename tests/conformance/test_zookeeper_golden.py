"""Kafka's tools write the same znodes through kconf as through 3.9.2
(tests/unit/store/zookeeper/zookeeper_golden.json).

The original tree of the real broker is loaded into a ZooKeeper, then its tools run again on kconf, one after the other.
The changes that each run makes to the tree are compared, except salts, IDs, notification numbers, kconf's own field
`kconf`, which brokers ignore, and changes that only a controller makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from kconf import SyncAdminClient
from lab.tools import CONFIGS, TOPICS, Done, ToolServer
from lab.zookeeper import ZooKeeper
from tests.feed.reading import until
from tests.support.process import KconfProcess

GOLDEN = json.loads(Path("tests/unit/store/zookeeper/zookeeper_golden.json").read_text())
ACLS = "kafka.admin.AclCommand"
TOOLS = {"kafka-configs": CONFIGS, "kafka-topics": TOPICS, "kafka-acls": ACLS}
CHROOT = "/golden"
PASSWORD = GOLDEN["password_vector_accepted_by_the_broker"]
PROPERTIES = {
    "password.encoder.secret": PASSWORD["password_encoder_secret"],
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
}
DIFFERENT = {
    "broker config add for absent broker 9": "takes Kafka's tool a minute to give up",
    "broker-logger (no znode expected)": "kconf has other loggers",
    "ip quota ipv6": "kconf takes what Kafka 3.9 refuses by mistake",
    "client-metrics entity (expect refusal)": "kconf has them, under /kconf",
    "acl group with slash in the name": "kconf has it, under /kconf",
}
PLAYED = [(number, step) for number, step in enumerate(GOLDEN["steps"]) if step["step"] not in DIFFERENT]
CONTROLLERS = re.compile(
    r"/controller|/brokers/(ids|seqid)|/brokers/topics/[^/]+/partitions|/kconf(/|$)|/admin/delete_"
)
SALTED = re.compile(r"(salt|stored_key|server_key|initializationVector|encryptedPassword)([=:])[A-Za-z0-9+/=]*")

Tree = dict[str, str]
Step = tuple[Done, list[tuple[str, str, Any]]]


@pytest.fixture(scope="module")
def steps(zookeeper: ZooKeeper, tools_392: ToolServer) -> Iterator[Mapping[int, Step]]:
    """The output and the changes of each run."""
    client = KazooClient(hosts=zookeeper.address)
    client.start(timeout=30)
    client.ensure_path(CHROOT)
    client.chroot = CHROOT
    try:
        _plant(client)
        with KconfProcess(store=zookeeper.url(CHROOT), properties=PROPERTIES) as kconf:
            yield {number: _play(client, tools_392, kconf, step) for number, step in PLAYED}
    finally:
        client.stop()
        client.close()


@pytest.mark.parametrize(("number", "step"), PLAYED, ids=[f"{number}-{step['step']}" for number, step in PLAYED])
def test_a_tool_writes_the_same_znodes_through_kconf(
    steps: Mapping[int, Step], number: int, step: Mapping[str, Any]
) -> None:
    done, changed = steps[number]

    expected = [
        (each["op"], _numbered(each["path"]), _normal(each["path"], each.get("data")))
        for each in step["znodes"]
        if not CONTROLLERS.match(each["path"])
    ]
    assert sorted(changed, key=str) == sorted(expected, key=str)
    assert (done.returncode == 0) == step["ok"], done.stderr


def test_changes_by_kafkas_tool_in_zookeeper_are_seen_without_a_broker(
    zookeeper: ZooKeeper, tools_392: ToolServer
) -> None:
    """KIP-21: a notification reaches all watchers, also on an ensemble with only kconf servers."""
    place = f"{CHROOT}-alone"
    arguments = ("--entity-type", "users", "--entity-name", "alice", "--alter")
    with KconfProcess(store=zookeeper.url(place)) as kconf, SyncAdminClient(kconf.bootstrap) as client:

        def iterations() -> list[int]:
            found = client.describe_user_scram_credentials(["alice"])
            return [] if "alice" in found.failures else [each.iterations for each in found["alice"]]

        for count in (4096, 8192):
            added = f"SCRAM-SHA-256=[iterations={count},password=alice-secret]"
            done = tools_392.run_class(
                CONFIGS, "--zookeeper", zookeeper.address + place, *arguments, "--add-config", added
            )
            assert done.returncode == 0, done.stderr
            assert "--zookeeper is deprecated and will be removed in a future version" in done.stdout + done.stderr
            until(lambda count=count: iterations() == [count], 30.0)  # type: ignore[misc]


def _plant(client: KazooClient) -> None:
    """Load the tree of the real broker before its tools ran, without the broker itself: kconf is the only node."""
    password = {"version": 1, "config": {PASSWORD["key"]: PASSWORD["value"]}}  # the stored value was made unreadable
    tree = {**GOLDEN["initial_tree"], "/config/brokers/1": {"data": json.dumps(password)}}
    for path, node in tree.items():
        if path != "/" and not node.get("ephemeral"):
            prefix = re.sub(r"\d{10}$", "", path) if node.get("sequential") else path
            client.create(prefix, (node["data"] or "").encode(), sequence=node.get("sequential", False))


def _play(client: KazooClient, tools: ToolServer, kconf: KconfProcess, step: Mapping[str, Any]) -> Step:
    before = _tree(client)
    done = tools.run_class(TOOLS[step["tool"]], "--bootstrap-server", kconf.bootstrap, *step["args"])
    after = _tree(client)
    changed = [
        (op, _numbered(path), None if op == "delete" else _normal(path, after[path]))
        for op, path in _differences(before, after)
    ]
    return done, changed


def _differences(before: Tree, after: Tree) -> Iterator[tuple[str, str]]:
    for path in before.keys() | after.keys():
        if path not in after:
            yield "delete", path
        elif path not in before:
            yield "create", path
        elif before[path] != after[path]:
            yield "set", path


def _tree(client: KazooClient, path: str = "/") -> Tree:
    found = {path: (client.get(path)[0] or b"").decode()}
    for name in client.get_children(path):
        child = f"{path.rstrip('/')}/{name}"
        if not CONTROLLERS.match(child):
            found |= _tree(client, child)
    return found


def _numbered(path: str) -> str:
    return re.sub(r"_\d{10}$", "_N", path)


def _normal(path: str, data: str | None) -> Any:
    """A document without values that differ between runs or that brokers do not read."""
    if not data:
        return None
    if path.startswith("/kafka-acl-changes/"):
        return data
    facts = json.loads(SALTED.sub(r"\1\2…", data))
    facts.pop("kconf", None)
    if "topic_id" in facts:
        facts["topic_id"] = "ID"
    if "acls" in facts:
        facts["acls"].sort(key=str)
    for key, value in facts.get("config", {}).items():
        if "…" in value:
            facts["config"][key] = sorted(value.split(","))
    return facts
