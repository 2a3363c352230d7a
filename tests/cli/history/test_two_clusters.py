"""`kconf diff --against` compares the effective values of two clusters, not their spelling."""

from __future__ import annotations

from tests.cli.commands.scenarios import People
from tests.support.process import KconfProcess


def test_two_clusters_are_compared_by_effective_values(people: People) -> None:
    here = people.bootstrap
    with KconfProcess() as other:
        people.topics("d.same", configs=[("retention.ms", "604800000")])  # what the other one inherits
        people.topics("d.other", configs=[("segment.ms", "3600000"), ("cleanup.policy", "compact, delete")])
        people.topics("d.only-here", partitions=2)
        people("quota set --user d-user producer_byte_rate=1MiB")
        people.bootstrap = other.bootstrap
        people.add_context("there")
        people.topics("d.same")
        people.topics("d.other", configs=[("segment.ms", "7200000"), ("cleanup.policy", "compact,delete")])
        with people.admin() as admin:
            assert "d.only-here" not in admin.list_topics()
        people.bootstrap = here

        found = people.items("diff topic:d.* quota:d-user --against there", status=3)

    assert [(each["resource"], each["key"], each["here"], each["there"]) for each in found] == [
        ("topic:d.only-here", None, "2 partitions, 1 replica", None),
        ("topic:d.other", "segment.ms", "3600000", "7200000"),
        ('quota:{"user":"d-user"}', "producer_byte_rate", "1048576", None),
    ]
