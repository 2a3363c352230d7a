"""Administer from synchronous code: python -m examples.plain HOST:PORT

Creates three topics and prints the responses: since KIP-525 they have all configs of the new topic, with their sources.
Works on kconf and on any Kafka.
"""

from __future__ import annotations

import sys

from kconf import ApiError, CreatedTopic, ErrorCode, NewTopic, Source, SyncAdminClient

DAY = 24 * 60 * 60 * 1000
NEW_TOPICS = [
    NewTopic("orders", 6, 1, configs=[("retention.ms", str(7 * DAY))]),
    NewTopic("payments", 3, 1, configs=[("compression.type", "zstd"), ("max.message.bytes", "2000000")]),
    NewTopic("clicks"),  # the cluster's default partitions and replicas
]


def main(bootstrap: str) -> int:
    with SyncAdminClient(bootstrap) as admin:
        made = admin.create_topics(NEW_TOPICS)
    for new_topic in NEW_TOPICS:
        failure = made.failures.get(new_topic.name)
        if failure is None:
            print(_summary(made[new_topic.name]))
        else:
            print(f"{new_topic.name}: {failure.code.name}: {failure.message}")
    others = [each for each in made.failures.values() if each.code is not ErrorCode.TOPIC_ALREADY_EXISTS]
    return 1 if others else 0


def _summary(topic: CreatedTopic) -> str:
    if isinstance(topic.details, ApiError):
        return f"{topic.name}: created; {topic.details}"
    entries = topic.config.entries
    own = [f"{each.name}={each.value}" for each in entries if each.source is Source.TOPIC]
    shape = f"partitions {topic.num_partitions}, replicas {topic.replication_factor}, configs {len(entries)}"
    return f"{topic.name}: {shape}, of which its own: {', '.join(own) or 'none'}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"))
