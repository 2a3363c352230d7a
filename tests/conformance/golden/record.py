"""Records the golden bytes: `python -m tests.conformance.golden.record`. Needs Java and the jars of 3.9.2.

Every request is sent to a real broker and stored with its response, both without their lengths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from kconf.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kconf.protocol.messages.create_topics import CreateTopicsRequest
from kconf.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest
from kconf.protocol.messages.describe_acls import DescribeAclsRequest
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from lab.broker import KafkaBroker
from tests.conformance.differential.ask import Ending
from tests.conformance.differential.draw import BROKER, TOPIC, topic
from tests.conformance.differential.side import Side

HERE = Path(__file__).parent
RELEASE = "3.9.2"
_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}

Golden = tuple[str, int, str, Any]
"""API, version, what it is about, message"""


def plain() -> Iterator[Golden]:
    """Requests to a broker without an authorizer."""
    orders = topic("orders", 2, 1, configs=[("retention.ms", "1000")])
    placed = topic("placed", assignment={0: [1], 1: [1]})
    yield "CreateTopics", 0, "made", CreateTopicsRequest([orders])
    yield "CreateTopics", 0, "one exists, one has a bad name", CreateTopicsRequest([orders, topic("a b", 1, 1)])
    yield "CreateTopics", 1, "made by assignment", CreateTopicsRequest([placed])
    yield "CreateTopics", 1, "a dry run", CreateTopicsRequest([topic("dry", 1, 1)], validate_only=True)
    yield "CreateTopics", 1, "refused with a message", CreateTopicsRequest([topic("two", 1, 2), topic("", 1, 1)])
    yield "DescribeConfigs", 0, "a topic, all keys", _describe((TOPIC, "orders", None))
    yield "DescribeConfigs", 0, "a broker, some keys", _describe((BROKER, "1", ["node.id", "num.io.threads", "no.key"]))
    yield "DescribeConfigs", 0, "what is not there", _describe((TOPIC, "missing", []), (TOPIC, "a b", None))
    yield "DeleteTopics", 0, "one is there, one is not", DeleteTopicsRequest(topic_names=["placed", "missing"])
    yield "DeleteTopics", 0, "nothing", DeleteTopicsRequest(topic_names=[])
    yield "DescribeAcls", 0, "without an authorizer", DescribeAclsRequest(2, "orders")
    yield "CreateAcls", 0, "without an authorizer", CreateAclsRequest([_acl("orders")])
    yield "DeleteAcls", 0, "without an authorizer", DeleteAclsRequest([DeleteAclsFilter(2, "orders")])


def authorized() -> Iterator[Golden]:
    """Requests that need a broker with an authorizer."""
    yield "CreateAcls", 0, "two are made, one is refused", CreateAclsRequest([_acl("a"), _acl("b"), _acl("")])
    yield "DescribeAcls", 0, "one resource", DescribeAclsRequest(2, "a")
    yield "DescribeAcls", 0, "any resource", DescribeAclsRequest(1, None)
    yield (
        "DeleteAcls",
        0,
        "one matches, one does not",
        DeleteAclsRequest([DeleteAclsFilter(2, "a", principal_filter="User:a"), DeleteAclsFilter(2, "none")]),
    )


def _describe(*resources: tuple[int, str, list[str] | None]) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(*each) for each in resources])


def _acl(name: str) -> AclCreation:
    return AclCreation(2, name, principal="User:a", host="*", operation=3, permission_type=3)


def record(side: Side, requests: Iterator[Golden]) -> Iterator[dict[str, object]]:
    for number, (name, version, about, message) in enumerate(requests, 1):
        frame = request(BY_NAME[name], version, number, "golden", message)
        answer = side.send(frame)
        if isinstance(answer, Ending):
            raise SystemExit(f"{name} v{version} ({about}): Kafka {answer.value}")
        yield {
            "api": name,
            "version": version,
            "about": about,
            "request": frame[4:].hex(),
            "response": answer.hex(),
        }


def main() -> None:
    lines: list[dict[str, object]] = []
    for properties, requests in (({}, plain()), (_AUTHORIZER, authorized())):
        with KafkaBroker(RELEASE, properties=properties) as broker:
            side = Side("kafka", broker.host, broker.port)
            lines += record(side, requests)
            side.close()
    (HERE / f"kafka-{RELEASE}.json").write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
