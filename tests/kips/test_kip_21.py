"""KIP-21, dynamic configuration: the requirements for any store, with the requests that Kafka shipped and the KIP's
own.

ZooKeeper paths and notifications are tested with the ZooKeeper store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, WantedQuota
from kconf.protocol.messages.describe_config import DescribedEntity
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, QuotaResource
from tests.support.admin import BROKER, CLIENT_METRICS, DELETE, GROUP, SET, TOPIC, Admin, codes
from tests.support.process import KconfProcess

BROKERS = (BROKER, "")
CLIENT, PRODUCER_BYTE_RATE = 6, 0


def inherited(admin: Admin, topic: str) -> tuple[str | None, int]:
    entry = admin.entries((TOPIC, topic))["segment.bytes"]
    return entry.value, entry.config_source


def test_configuration_changes_while_the_server_runs(own_server: KconfProcess, own_admin: Admin) -> None:
    """Motivation: an entity's configuration can be changed without a restart."""
    own_admin.create("orders")
    pid = own_server.pid

    own_admin.alter((TOPIC, "orders"), ("segment.bytes", SET, "3000000"))

    assert inherited(own_admin, "orders") == ("3000000", 1)
    assert own_server.pid == pid


def test_all_kinds_of_entities_are_changed_by_one_mechanism(own_admin: Admin) -> None:
    """Motivation: one mechanism for the configuration of all entity types."""
    own_admin.create("orders")

    said = own_admin.alter_all(
        [
            ((TOPIC, "orders"), [("segment.ms", SET, "5")]),
            (BROKERS, [("log.segment.bytes", SET, "4000000")]),
            ((BROKER, "1"), [("log.segment.bytes", SET, "5000000")]),
            ((GROUP, "payments"), [("consumer.session.timeout.ms", SET, "50000")]),
            ((CLIENT_METRICS, "slow"), [("interval.ms", SET, "1000")]),
        ]
    )

    assert codes(said) == [0, 0, 0, 0, 0]
    assert own_admin.entries((TOPIC, "orders"))["segment.ms"].value == "5"
    assert own_admin.entries(BROKERS)["log.segment.bytes"].value == "4000000"
    assert own_admin.entries((BROKER, "1"))["log.segment.bytes"].value == "5000000"
    assert own_admin.entries((GROUP, "payments"))["consumer.session.timeout.ms"].value == "50000"
    assert own_admin.entries((CLIENT_METRICS, "slow"))["interval.ms"].value == "1000"


def test_everything_is_loaded_at_start(own_server: KconfProcess, own_admin: Admin) -> None:
    """ZNode Structure: at startup a broker loads all configuration from the store."""
    places = [(TOPIC, "orders"), BROKERS, (BROKER, "1"), (GROUP, "payments"), (CLIENT_METRICS, "slow")]
    own_admin.create("orders", configs={"segment.ms": "5"})
    own_admin.alter(BROKERS, ("log.segment.bytes", SET, "4000000"))
    own_admin.alter((BROKER, "1"), ("log.retention.ms", SET, "60000"))
    own_admin.alter((GROUP, "payments"), ("consumer.session.timeout.ms", SET, "50000"))
    own_admin.alter((CLIENT_METRICS, "slow"), ("interval.ms", SET, "1000"))
    before = own_admin.describe(*places)

    own_server.restart()

    with Admin(own_server.bootstrap) as admin:
        assert admin.describe(*places) == before


def test_the_store_takes_precedence_over_the_properties_file(own_admin: Admin) -> None:
    """Config Precedence: stored values override the file; the file applies to all other keys."""
    own_admin.create("orders")
    assert inherited(own_admin, "orders") == ("2000000", 4)

    own_admin.alter(BROKERS, ("log.segment.bytes", SET, "3000000"))
    assert inherited(own_admin, "orders") == ("3000000", 3)
    own_admin.alter((BROKER, "1"), ("log.segment.bytes", SET, "4000000"))
    assert inherited(own_admin, "orders") == ("4000000", 2)
    own_admin.alter((TOPIC, "orders"), ("segment.bytes", SET, "5000000"))
    assert inherited(own_admin, "orders") == ("5000000", 1)


def test_a_broker_shows_the_file_below_what_is_stored(own_admin: Admin) -> None:
    """Config Precedence, as a chain: per broker, all brokers, file, default."""
    own_admin.alter(BROKERS, ("log.segment.bytes", SET, "3000000"))
    own_admin.alter((BROKER, "1"), ("log.segment.bytes", SET, "4000000"))

    entry = own_admin.entries((BROKER, "1"))["log.segment.bytes"]

    assert entry.value == "4000000"
    assert [(each.value, each.source) for each in entry.synonyms] == [
        ("4000000", 2),
        ("3000000", 3),
        ("2000000", 4),
        ("1073741824", 5),
    ]


def test_a_deleted_key_falls_back_level_by_level_at_once(own_admin: Admin) -> None:
    """AlterConfig: an entity whose property is deleted takes the default for it again."""
    own_admin.create("orders", configs={"segment.bytes": "5000000"})
    own_admin.alter(BROKERS, ("log.segment.bytes", SET, "3000000"))
    own_admin.alter((BROKER, "1"), ("log.segment.bytes", SET, "4000000"))

    own_admin.alter((TOPIC, "orders"), ("segment.bytes", DELETE, None))
    assert inherited(own_admin, "orders") == ("4000000", 2)
    own_admin.alter((BROKER, "1"), ("log.segment.bytes", DELETE, None))
    assert inherited(own_admin, "orders") == ("3000000", 3)
    own_admin.alter(BROKERS, ("log.segment.bytes", DELETE, None))
    assert inherited(own_admin, "orders") == ("2000000", 4)


def test_a_deleted_key_without_a_file_value_has_its_default_again(admin: Admin, topic: str) -> None:
    """AlterConfig: the same if only the built-in default is left."""
    admin.create(topic, configs={"segment.ms": "5"})

    admin.alter((TOPIC, topic), ("segment.ms", DELETE, None))

    entry = admin.entries((TOPIC, topic))["segment.ms"]
    assert (entry.value, entry.config_source) == ("604800000", 5)


def test_keys_are_added_and_deleted_in_one_request(admin: Admin, topic: str) -> None:
    """AlterConfig: a request has entries to add and names to delete; other entries do not change."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    said = admin.alter((TOPIC, topic), ("retention.ms", SET, "7"), ("segment.ms", DELETE, None))

    assert said.error_code == 0
    assert admin.overrides(topic) == {"flush.ms": "6", "retention.ms": "7"}


def test_a_deletion_needs_the_name_only(admin: Admin, topic: str) -> None:
    """AlterConfig: a deletion has the property's name, not its value."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    with_null = admin.alter((TOPIC, topic), ("segment.ms", DELETE, None))
    with_another = admin.alter((TOPIC, topic), ("flush.ms", DELETE, "not its value"))

    assert codes([with_null, with_another]) == [0, 0]
    assert admin.overrides(topic) == {}


def test_each_entity_is_answered_with_its_own_code(admin: Admin, topic: str) -> None:
    """AlterConfig: the response has type, name and code for each entity."""
    admin.create(topic)
    requested = [("segment.ms", SET, "5")]

    said = admin.alter_all([((TOPIC, topic), requested), ((TOPIC, "missing"), requested)])

    assert [(each.resource_type, each.resource_name, each.error_code) for each in said] == [
        (TOPIC, topic, 0),
        (TOPIC, "missing", 3),
    ]


def test_a_failed_describe_has_a_code_and_no_entries(admin: Admin) -> None:
    """DescribeConfig: on an error, entries are empty and the code is not zero."""
    (result,) = admin.describe((TOPIC, "missing"))

    assert (result.error_code, list(result.configs)) == (3, [])


@pytest.mark.parametrize(("key", "value"), [("no.such.key", "1"), ("segment.ms", "soon"), ("segment.ms", "0")])
def test_a_wrong_key_or_value_is_an_invalid_config(admin: Admin, topic: str, key: str, value: str) -> None:
    """Error Codes, InvalidEntityConfig: the key or its value is wrong. Shipped as INVALID_CONFIG."""
    admin.create(topic)

    assert admin.alter((TOPIC, topic), (key, SET, value)).error_code == 40


@pytest.mark.parametrize(
    ("place", "code"),
    [((1, "orders"), 42), ((TOPIC, "bad name"), 17), ((TOPIC, ""), 42), ((TOPIC, "missing"), 3), ((BROKER, "x"), 42)],
)
def test_a_wrong_entity_type_or_name_is_refused(admin: Admin, place: tuple[int, str], code: int) -> None:
    """Error Codes, InvalidEntity: type or name is wrong. Shipped as several more specific codes."""
    assert admin.alter(place, ("segment.ms", SET, "5")).error_code == code


def test_most_settings_of_a_broker_stay_in_its_file(admin: Admin) -> None:
    """Rejected Alternatives: no dynamic broker configuration. KIP-226 later allowed a list of keys."""
    fixed = admin.alter((BROKER, "1"), ("log.dirs", SET, "/elsewhere"))
    opened = admin.alter((BROKER, "1"), ("log.cleaner.backoff.ms", SET, "20000"), dry=True)

    assert codes([fixed, opened]) == [42, 0]
    entries = admin.entries((BROKER, "1"))
    assert (entries["log.dirs"].read_only, entries["log.cleaner.backoff.ms"].read_only) == (True, False)


# -- The KIP's own requests, AlterConfig and DescribeConfig ----------------------------------------------------------


def entity(kind: str, name: str, added: Mapping[str, str] | None = None, deleted: Sequence[str] = ()) -> AlteredEntity:
    return AlteredEntity(kind, name, [AddedConfigEntry(*each) for each in (added or {}).items()], deleted)


def alter_entities(admin: Admin, *entities: AlteredEntity) -> list[tuple[str, str, int]]:
    answer = admin.ask("AlterConfig", 0, entities=entities)
    return [(each.entity_type, each.entity_name, each.error_code) for each in answer.entities]


def describe_entities(admin: Admin, *entities: tuple[str, str]) -> list[tuple[int, dict[str, str]]]:
    answer = admin.ask("DescribeConfig", 0, entities=[DescribedEntity(*each) for each in entities])
    return [
        (each.error_code, {entry.config_key: entry.config_value for entry in each.config_entries})
        for each in answer.entities
    ]


@pytest.mark.parametrize("kind", ["topic", "topics"])
def test_the_kips_own_request_adds_and_deletes(admin: Admin, topic: str, kind: str) -> None:
    """AlterConfig: entities as strings, entries to add, names to delete. The KIP writes both topic and topics."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    said = alter_entities(admin, entity(kind, topic, {"retention.ms": "7"}, ["segment.ms"]))

    assert said == [(kind, topic, 0)]
    assert describe_entities(admin, (kind, topic)) == [(0, {"flush.ms": "6", "retention.ms": "7"})]
    assert admin.overrides(topic) == {"flush.ms": "6", "retention.ms": "7"}


def test_the_kips_own_request_answers_for_each_entity(admin: Admin, topic: str) -> None:
    """AlterConfig, Error Codes: InvalidEntity is 42, InvalidEntityConfig is 40; siblings are updated."""
    admin.create(topic, f"{topic}-bad", f"{topic}-both")
    requested = {"segment.ms": "5"}

    said = alter_entities(
        admin,
        entity("planet", "mars", requested),
        entity("topic", "missing", requested),
        entity("topic", "bad name", requested),
        entity("topic", f"{topic}-bad", {"segment.ms": "soon"}),
        entity("topic", f"{topic}-both", requested, ["segment.ms"]),
        entity("topic", topic, requested),
    )

    assert [code for _, _, code in said] == [42, 42, 42, 40, 40, 0]
    assert admin.overrides(topic) == requested


def test_an_unknown_key_to_delete_is_an_invalid_config(own_admin: Admin) -> None:
    """Error Codes: InvalidConfig if the key of a deletion is incorrect, for every entity type; nothing is changed."""
    own_admin.create("orders", configs={"segment.ms": "5"})

    said = alter_entities(
        own_admin,
        entity("topic", "orders", {"flush.ms": "6"}, ["segment.ms", "no.such.key"]),
        entity("client", "Adi", {"producer_byte_rate": "5"}, ["no.such.key"]),
    )

    assert [code for _, _, code in said] == [40, 40]
    assert own_admin.overrides("orders") == {"segment.ms": "5"}
    assert describe_entities(own_admin, ("client", "Adi")) == [(0, {})]


def test_the_kips_own_describe_has_either_entries_or_an_error(admin: Admin, topic: str) -> None:
    """DescribeConfig: entries, or an error code and none."""
    admin.create(topic, configs={"segment.ms": "5"})

    said = describe_entities(admin, ("topic", topic), ("topic", "missing"), ("planet", "mars"))

    assert said == [(0, {"segment.ms": "5"}), (42, {}), (42, {})]


def test_quotas_of_a_client_are_its_configuration(own_admin: Admin) -> None:
    """Applying Client Config Changes: producer and consumer quotas of a client ID have different keys."""
    rates = {"producer_byte_rate": "1000", "consumer_byte_rate": "2000"}

    said = alter_entities(own_admin, entity("client", "Adi", rates), entity("clients", "Bea", {"no.such.key": "1"}))

    assert said == [("client", "Adi", 0), ("clients", "Bea", 40)]
    assert describe_entities(own_admin, ("client", "Adi"), ("client", "")) == [
        (0, {"consumer_byte_rate": "2000", "producer_byte_rate": "1000"}),
        (42, {}),
    ]


def test_a_client_whose_quota_is_deleted_has_none_of_its_own(own_admin: Admin) -> None:
    """AlterConfig: if the quota of a client is deleted, the default quota applies to it again."""
    default = AlteredQuotaResource([QuotaResource(CLIENT, "")], [WantedQuota(PRODUCER_BYTE_RATE, 500.0)])
    own_admin.ask("AlterQuotas", 0, validate_only=False, resources=[default])
    alter_entities(own_admin, entity("client", "Adi", {"producer_byte_rate": "1000"}))

    def in_force() -> list[float]:
        requested = DescribedQuotaResource([QuotaResource(CLIENT, "Adi")])
        (answer,) = own_admin.ask("DescribeQuotas", 0, resources=[requested]).resources
        return [each.quota_value for each in answer.quotas]

    assert in_force() == [1000.0]
    assert alter_entities(own_admin, entity("client", "Adi", deleted=["producer_byte_rate"])) == [("client", "Adi", 0)]
    assert describe_entities(own_admin, ("client", "Adi")) == [(0, {})]
    assert in_force() == [500.0]


def test_a_repeated_entity_is_refused_for_any_change(own_admin: Admin) -> None:
    """AlterConfig responds by entity, so two changes of one entity have one result: both are refused."""
    good, bad = {"producer_byte_rate": "5"}, {"producer_byte_rate": "fast"}
    own_admin.create("orders")

    said = alter_entities(
        own_admin,
        entity("client", "Adi", bad),
        entity("client", "Adi", good),
        entity("topic", "orders", {"segment.ms": "5"}),
        entity("topics", "orders", {"segment.ms": "6"}),
    )

    assert [code for _, _, code in said] == [42, 42, 42, 42]
    assert describe_entities(own_admin, ("client", "Adi"), ("topic", "orders")) == [(0, {}), (0, {})]
