"""kill -9 at any moment: everything that a store acknowledged is stored, and nothing is half applied.

The child commits batches in a loop and prints the last revision of each when it is durable. The batches include a
secret and a topic, so that state which cannot be rebuilt from the journal is covered too.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot, replay
from kconf.store.registry import open_store

BROKERS = Resource.brokers()

CHILD = """
import sys
from uuid import UUID
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json
from kconf.store.registry import open_store

store = open_store(sys.argv[1])
number = store.load().revision
while True:
    batch = []
    for _ in range(number % 7 + 1):
        number += 1
        topic = Topic(f"t{number % 50}", UUID(int=number), ((1,),))
        batch.append(PendingCommit(RequestContext(), number, [
            Change(ChangeKind.TOPIC, topic.resource, "", None, topic_to_json(topic), "CREATE"),
            Change(ChangeKind.CONFIG, topic.resource, "a", None, str(number), "SET"),
            Change(ChangeKind.CONFIG, Resource.brokers(), "b", None, str(number), "SET"),
        ], {topic.resource: number}))
        if number % 5 == 0:  # not always: a secret makes the store fold its journal into its state
            secret = Change(ChangeKind.CONFIG, Resource.brokers(), "pw", None, f"secret-{number}", "SET", True)
            batch[-1].changes.append(secret)
    print(store.commit(batch)[-1].number, flush=True)
"""


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.faults)])
def test_every_acknowledged_revision_survives_kill_9(tmp_path: Path, kills: int) -> None:
    url = f"sqlite:///{tmp_path}/kconf.db"
    reached = 0
    chance = random.Random(20)
    for _ in range(kills):
        acknowledged = run_and_kill(url, after=chance.uniform(0, 0.1))
        reached = check(url, max(acknowledged, reached))
    assert reached >= kills


def run_and_kill(url: str, *, after: float) -> int:
    """The last revision that the child reported as durable."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, url], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child:
        said = [child.stdout.readline()]  # it is running
        time.sleep(after)  # kill it at a random moment
        child.kill()
        said += child.stdout.readlines()
    return max(int(line) for line in said if line.endswith("\n"))


def check(url: str, acknowledged: int) -> int:
    store = open_store(url)
    try:
        state = store.load()
        journal = store.changes(0, 10**9)
    finally:
        store.close()
    last = state.revision
    assert last >= acknowledged
    assert [each.number for each in journal] == list(range(1, last + 1))
    secrets = {"pw": f"secret-{last - last % 5}"} if last >= 5 else {}
    assert state.overrides(BROKERS) == {"b": str(last), **secrets}
    assert without_secrets(replay((each.number, each.changes) for each in journal)) == without_secrets(state)
    return last


def without_secrets(state: Snapshot) -> Snapshot:
    plain = {key: value for key, value in state.overrides(BROKERS).items() if key != "pw"}
    return Snapshot.of(state.revision, state.topics, state.configs.set(BROKERS, plain), state.changed)
