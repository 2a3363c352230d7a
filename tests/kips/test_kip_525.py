"""KIP-525: the response of CreateTopics has partitions, replication factor and configuration.

The response to a caller without DESCRIBE_CONFIGS (-1, -1, no configs, and a code as tag 0) is tested elsewhere.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.policies import recorder
from tests.support.admin import BROKER, SET, TOPIC, Admin, codes, new_topic
from tests.support.process import KconfProcess


def rows(made: Any) -> dict[str, tuple[str | None, int]]:
    return {each.name: (each.value, each.config_source) for each in made.configs}


def test_the_answer_has_partitions_replication_factor_and_configs(admin: Admin, topic: str) -> None:
    """Goal 1, CreateTopicsResponse: it has the topic as it was created."""
    (made,) = admin.create(topic, partitions=3, factor=1, configs={"segment.ms": "5"})

    assert (made.num_partitions, made.replication_factor, len(made.configs)) == (3, 1, 33)
    assert rows(made)["segment.ms"] == ("5", 1)
    assert made.topic_config_error_code == 0


def test_no_other_request_is_needed_after_creating(admin: Admin, topic: str) -> None:
    """Motivation: it saves the requests Metadata and DescribeConfigs, so it must return the same values."""
    (made,) = admin.create(topic, partitions=2, configs={"segment.ms": "5", "cleanup.policy": "compact"})
    described = admin.entries((TOPIC, topic))
    (seen,) = [each for each in admin.ask("Metadata", 13, topics=None).topics if each.name == topic]

    assert rows(made) == {name: (each.value, each.config_source) for name, each in described.items()}
    assert (len(seen.partitions), seen.topic_id) == (made.num_partitions, made.topic_id)
    assert {len(each.replica_nodes) for each in seen.partitions} == {made.replication_factor}


def test_a_dry_run_returns_the_defaults_that_would_be_used(admin: Admin, topic: str) -> None:
    """Goal 2: with validateOnly the response has the values that would be used, and nothing is created."""
    (planned,) = admin.create(topic, dry=True)

    assert (planned.error_code, planned.num_partitions, planned.replication_factor) == (0, 1, 1)
    assert rows(planned)["segment.bytes"] == ("2000000", 4)
    assert admin.describe((TOPIC, topic))[0].error_code == 3


def test_a_dry_run_and_the_real_one_have_the_same_response(admin: Admin, topic: str) -> None:
    """Motivation: a tool can show in advance what will be created. Only the topic ID differs."""
    (planned,) = admin.create(topic, partitions=2, configs={"segment.ms": "5"}, dry=True)
    (made,) = admin.create(topic, partitions=2, configs={"segment.ms": "5"})

    assert rows(planned) == rows(made)
    assert (planned.num_partitions, planned.replication_factor) == (made.num_partitions, made.replication_factor)
    assert any(planned.topic_id)
    assert planned.topic_id != made.topic_id


def test_every_source_is_reported(own_admin: Admin) -> None:
    """CreatableTopicConfigs: each row has its source: topic, this broker, all brokers, file, default."""
    own_admin.alter((BROKER, ""), ("log.retention.ms", SET, "60000"), ("compression.type", SET, "gzip"))
    own_admin.alter((BROKER, "1"), ("compression.type", SET, "lz4"))

    (made,) = own_admin.create("orders", configs={"segment.ms": "5"})

    found = rows(made)
    assert found["segment.ms"] == ("5", 1)
    assert found["compression.type"] == ("lz4", 2)
    assert found["retention.ms"] == ("60000", 3)
    assert found["segment.bytes"] == ("2000000", 4)
    assert found["flush.messages"] == ("9223372036854775807", 5)


def test_rows_are_neither_read_only_nor_sensitive(admin: Admin, topic: str) -> None:
    """CreatableTopicConfigs: flags of each row; topics have no read-only and no sensitive keys."""
    (made,) = admin.create(topic)

    assert {(each.read_only, each.is_sensitive) for each in made.configs} == {(False, False)}


def test_rows_are_sorted_by_name(admin: Admin, topic: str) -> None:
    """CreatableTopicConfigs: as shipped, in the order of the names."""
    (made,) = admin.create(topic, configs={"segment.ms": "5"})

    assert [each.name for each in made.configs] == sorted(each.name for each in made.configs)


@pytest.mark.parametrize(
    ("options", "code"), [({"factor": 9}, 38), ({"partitions": 0}, 37), ({"configs": {"no.such.key": "1"}}, 40)]
)
def test_a_failed_creation_has_no_configuration(admin: Admin, topic: str, options: dict[str, Any], code: int) -> None:
    """CreateTopicsResponse: the defaults of the new fields are -1, -1 and nothing."""
    (made,) = admin.create(topic, **options)

    assert (made.error_code, made.num_partitions, made.replication_factor) == (code, -1, -1)
    assert not made.configs
    assert made.topic_config_error_code == 0


def test_each_topic_of_a_request_has_its_own_result(admin: Admin, topic: str) -> None:
    """CreateTopicsResponse: a result for each topic of the request."""
    good, bad = new_topic(topic, 2), new_topic(f"{topic}-bad", 2, 9)

    said = admin.create_topics([good, bad])

    assert codes(said) == [0, 38]
    assert [each.num_partitions for each in said] == [2, -1]


@pytest.mark.parametrize("version", range(5))
def test_older_versions_do_not_have_the_new_fields(admin: Admin, topic: str, version: int) -> None:
    """Compatibility: the new fields begin with version 5."""
    (made,) = admin.create(topic, version=version)

    assert (made.error_code, made.num_partitions, made.configs) == (0, -1, ())


@pytest.mark.parametrize("version", [5, 6, 7])
def test_newer_versions_have_the_new_fields(admin: Admin, topic: str, version: int) -> None:
    """CreateTopicsRequest: version 5 does not change the request; later versions keep the fields."""
    (made,) = admin.create(topic, version=version)

    assert (made.error_code, made.num_partitions, len(made.configs)) == (0, 1, 33)


@pytest.mark.parametrize("dry", [True, False])
def test_policies_get_the_defaults_of_a_creation_and_of_its_dry_run(dry: bool) -> None:
    """Motivation: a dry run shows the result of the real request, so it is refused in the same cases."""
    names = ("alter.config.policy.class.name", "create.topic.policy.class.name")
    properties = {"num.partitions": "4", **dict.fromkeys(names, f"{recorder.__file__}:Both")}
    with KconfProcess(properties=properties) as server, Admin(server.bootstrap) as admin:
        said = admin.create("fine", "t.create.REFUSE", configs={"segment.ms": "5"}, dry=dry)

        assert [(each.error_code, each.num_partitions, len(each.configs)) for each in said] == [(0, 4, 33), (44, -1, 0)]
        asked = [json.loads(line) for line in (server.directory / recorder.FILE).read_text().splitlines()]
        assert [(each["kind"], each["partitions"], each["validate_only"]) for each in asked] == [
            ("alter", None, dry),
            ("alter", None, dry),
            ("create", 4, dry),
            ("create", 4, dry),
        ]
