"""A policy that a server loads from this file: it records its calls, and follows instructions in resource names.

The name of a resource may contain an instruction: `alter.REFUSE`, `create.REFUSE`, and likewise RAISE, EXIT, OTHER,
HANG, NONSENSE and WARN. HANG lasts until the file `go` exists in the server's directory. Brokers have no such names, so
one value is always refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kconf.engine.policy.hooks import AlterProposal, GrowthProposal, TopicProposal
from kconf.errors import InvalidConfig, PolicyViolation

FILE = "asked.jsonl"
GO = "go"
REFUSED_VALUE = "1234567"


class Alter:
    def check_alter(self, proposal: AlterProposal) -> Any:
        _write(
            kind="alter",
            resource=str(proposal.resource),
            changed=dict(proposal.changed),
            resulting=dict(proposal.resulting),
            previous=dict(proposal.previous),
            principal=proposal.principal,
            validate_only=proposal.validate_only,
            partitions=proposal.topic.partitions if proposal.topic is not None else None,
            retention=proposal.effective.get("retention.ms"),
        )
        return _act("alter", proposal.resource.name, proposal.changed)


class Create:
    def check_create(self, proposal: TopicProposal) -> Any:
        assignments = proposal.assignments
        _write(
            kind="create",
            resource=str(proposal.resource),
            partitions=proposal.partitions,
            factor=proposal.replication_factor,
            assignments={each: list(brokers) for each, brokers in assignments.items()} if assignments else None,
            configs=dict(proposal.configs),
            principal=proposal.principal,
            validate_only=proposal.validate_only,
        )
        return _act("create", proposal.name, {})


class Both(Alter, Create):
    """Kafka's two policies in one."""


class Growth(Create):
    def check_growth(self, proposal: GrowthProposal) -> None:
        _write(kind="growth", resource=str(proposal.resource), had=proposal.previous, has=proposal.topic.partitions)
        if proposal.topic.partitions > 5:
            raise PolicyViolation("five are enough")


class Closed(Alter):
    def close(self) -> None:
        _write(kind="close")


def _act(kind: str, name: str, changed: Mapping[str, str | None]) -> Any:
    deed = name.partition(f"{kind}.")[2]
    if deed.startswith("REFUSE") or REFUSED_VALUE in changed.values():
        raise PolicyViolation(f"no: {name}")
    if deed.startswith("EXIT"):
        raise SystemExit(3)
    if deed.startswith("OTHER"):
        raise InvalidConfig("not a policy's word")
    if deed.startswith("RAISE"):
        raise ValueError("broken inside")
    if deed.startswith("HANG"):
        while not Path(GO).exists():
            time.sleep(0.005)
    if deed.startswith("NONSENSE"):
        return False
    return ["careful"] if deed.startswith("WARN") else None


def _write(**what: Any) -> None:
    with Path(FILE).open("a") as file:
        file.write(json.dumps(what) + "\n")
