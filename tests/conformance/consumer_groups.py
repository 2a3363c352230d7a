"""Creates consumer groups on a real cluster with a real client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import confluent_kafka
import confluent_kafka.admin

MESSAGES = 5  # per topic


def consumed(bootstrap: str, group: str, topics: Sequence[str], **settings: Any) -> None:
    """Produce messages and read them with a real consumer, which commits its offsets and leaves."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    for topic in topics:
        for number in range(MESSAGES):
            producer.produce(topic, str(number))
    assert producer.flush(60) == 0
    options = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, **settings}
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, **options})
    consumer.subscribe(list(topics))
    seen = 0
    while seen < MESSAGES * len(topics):
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None, message.error()
        seen += 1
    consumer.commit(asynchronous=False)
    consumer.close()


def forget(bootstrap: str, group: str) -> None:
    """Delete a group, so that other tests do not see it."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_consumer_groups([group])[group].result()
