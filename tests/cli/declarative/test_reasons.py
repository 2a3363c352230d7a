"""`--reason` is in a kconf server's journal for every command that changes something."""

from __future__ import annotations

from kconf import Resource
from tests.cli.commands.scenarios import People, a_name


def reasons(people: People, topic: str) -> list[tuple[str, str | None]]:
    with people.admin() as admin:
        revisions = admin.list_changes(0, about=[Resource.topic(topic)]).revisions
    return [(each.caller.api, each.caller.reason) for each in revisions]


def test_the_topic_commands_record_their_reason(people: People) -> None:
    topic = a_name()

    people(f"topic create {topic} --partitions 1 --replication-factor 1 --reason 'ticket 1'")
    people(f"topic grow {topic} --partitions 2 --reason 'ticket 2'")
    people(f"topic delete {topic} --allow-data-loss --reason 'ticket 3'")

    assert reasons(people, topic) == [
        ("CreateTopics", "ticket 1"),
        ("CreatePartitions", "ticket 2"),
        ("DeleteTopics", "ticket 3"),
    ]


def test_apply_records_its_reason_for_topics_too(people: People) -> None:
    topic = a_name()
    files = people.directory / "topics.yaml"
    own = f"selector: ['topic:{topic}']\n"

    for text, more in (
        (f"topics: {{{topic}: {{partitions: 1, replication: 1}}}}", ""),
        (f"topics: {{{topic}: {{partitions: 2, replication: 1}}}}", ""),
        (own, "--prune=topics --allow-data-loss"),
    ):
        files.write_text(text)
        people(f"apply -f {files} --yes --reason 'ticket 12' {more}")

    apis = ("CreateTopics", "CreatePartitions", "DeleteTopics")
    assert reasons(people, topic) == [(api, "ticket 12") for api in apis]
