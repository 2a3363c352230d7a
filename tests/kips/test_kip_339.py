"""KIP-339, IncrementalAlterConfigs: change only the given keys."""

from __future__ import annotations

import pytest

from tests.support.admin import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, Admin, codes

LIST = "follower.replication.throttled.replicas"


def test_the_older_request_replaces_all_overrides(admin: Admin, topic: str) -> None:
    """Motivation: with AlterConfigs the new configuration replaces the existing one."""
    admin.create(topic, configs={"segment.ms": "5"})

    admin.replace([((TOPIC, topic), {"flush.ms": "6"})])

    assert admin.overrides(topic) == {"flush.ms": "6"}


def test_only_the_given_values_are_modified(admin: Admin, topic: str) -> None:
    """Motivation: the new request is incremental; other keys do not change."""
    admin.create(topic, configs={"segment.ms": "5"})

    admin.alter((TOPIC, topic), ("flush.ms", SET, "6"))

    assert admin.overrides(topic) == {"flush.ms": "6", "segment.ms": "5"}


def test_a_hidden_value_survives_an_incremental_change(own_admin: Admin) -> None:
    """Motivation: sensitive values are not described, so a client cannot repeat them; AlterConfigs drops them."""
    broker = (BROKER, "1")
    own_admin.alter(broker, ("my.plugin.token", SET, "hidden"))
    hidden = own_admin.entries(broker)["my.plugin.token"]
    assert (hidden.value, hidden.is_sensitive, hidden.config_source) == (None, True, 2)

    own_admin.alter(broker, ("log.retention.ms", SET, "60000"))
    assert "my.plugin.token" in own_admin.entries(broker)
    own_admin.replace([(broker, {"log.retention.ms": "60000"})])
    assert "my.plugin.token" not in own_admin.entries(broker)


def test_updates_of_interleaved_clients_are_not_lost(admin: Admin, topic: str) -> None:
    """Motivation: without read-modify-write no update is lost; the items of all clients are in the list."""
    admin.create(topic)

    for item in ("0:1", "1:1", "2:1"):
        admin.alter((TOPIC, topic), (LIST, APPEND, item))

    assert admin.overrides(topic) == {LIST: "0:1,1:1,2:1"}


# -- The four operations ---------------------------------------------------------------------------------------------


def test_set_gives_a_key_a_value(admin: Admin, topic: str) -> None:
    """Set: a configuration gets a value, whether it had one or not."""
    admin.create(topic, configs={"segment.ms": "5"})

    admin.alter((TOPIC, topic), ("segment.ms", SET, "6"), ("flush.ms", SET, "7"))

    assert admin.overrides(topic) == {"flush.ms": "7", "segment.ms": "6"}


@pytest.mark.parametrize("op", [SET, APPEND, SUBTRACT])
def test_null_is_not_a_value(admin: Admin, topic: str, op: int) -> None:
    """Set: the value must not be null. Shipped as 42, for every operation that needs a value."""
    admin.create(topic)

    said = admin.alter((TOPIC, topic), ("cleanup.policy", op, None), ("flush.ms", SET, "7"))

    assert said.error_code == 42
    assert "cleanup.policy" in said.error_message
    assert admin.overrides(topic) == {}


def test_an_empty_string_is_a_value_of_a_list_but_not_of_a_number(admin: Admin, topic: str) -> None:
    """Set: "" is an empty list, but not a valid number. It never means a deletion."""
    admin.create(topic)

    assert admin.alter((TOPIC, topic), (LIST, SET, "")).error_code == 0
    assert admin.alter((TOPIC, topic), ("segment.ms", SET, "")).error_code == 40
    assert admin.overrides(topic) == {LIST: ""}


def test_delete_removes_a_key(admin: Admin, topic: str) -> None:
    """Delete: the key is removed; the inherited value applies."""
    admin.create(topic, configs={"segment.ms": "5", "flush.ms": "6"})

    admin.alter((TOPIC, topic), ("segment.ms", DELETE, None))

    assert admin.overrides(topic) == {"flush.ms": "6"}


@pytest.mark.parametrize("key", ["segment.ms", "no.such.key"])
def test_deleting_an_absent_key_succeeds(admin: Admin, topic: str, key: str) -> None:
    """Delete: as shipped, an absent and even an unknown key can be deleted."""
    admin.create(topic)

    assert admin.alter((TOPIC, topic), (key, DELETE, None)).error_code == 0


def test_append_adds_to_a_list(admin: Admin, topic: str) -> None:
    """Append: new items are added at the end of a list."""
    admin.create(topic, configs={LIST: "1:1"})

    admin.alter((TOPIC, topic), (LIST, APPEND, "0:0,1:1"))

    assert admin.overrides(topic) == {LIST: "1:1,0:0"}


def test_append_to_an_unset_list_starts_from_its_default(admin: Admin, topic: str) -> None:
    """Append: as shipped, an unset list starts from the key's own default."""
    admin.create(topic)

    admin.alter((TOPIC, topic), ("cleanup.policy", APPEND, "compact"))

    assert admin.overrides(topic) == {"cleanup.policy": "delete,compact"}


def test_append_starts_from_the_default_and_not_from_the_inherited_value(own_admin: Admin) -> None:
    """Append: as shipped, the value inherited from brokers is not used."""
    own_admin.create("orders")
    own_admin.alter((BROKER, ""), ("log.cleanup.policy", SET, "compact"))

    own_admin.alter((TOPIC, "orders"), ("cleanup.policy", APPEND, "compact"))

    assert own_admin.overrides("orders") == {"cleanup.policy": "delete,compact"}


def test_subtract_removes_items_from_a_list(admin: Admin, topic: str) -> None:
    """Subtract: the items are removed; missing items are ignored."""
    admin.create(topic, configs={LIST: "0:0,1:1,2:2"})

    admin.alter((TOPIC, topic), (LIST, SUBTRACT, "1:1,9:9"))

    assert admin.overrides(topic) == {LIST: "0:0,2:2"}


def test_subtracting_everything_leaves_an_empty_override(admin: Admin, topic: str) -> None:
    """Subtract: as shipped, an empty list is stored, which is not a deletion."""
    admin.create(topic, configs={"cleanup.policy": "compact"})

    admin.alter((TOPIC, topic), ("cleanup.policy", SUBTRACT, "compact"))

    assert admin.overrides(topic) == {"cleanup.policy": ""}


# -- One resource, one outcome ---------------------------------------------------------------------------------------


def test_several_keys_of_a_resource_change_together(admin: Admin, topic: str) -> None:
    """Proposed Changes: several configs of a resource are updated at once."""
    admin.create(topic, configs={"retention.ms": "1", "cleanup.policy": "compact"})

    said = admin.alter(
        (TOPIC, topic), ("cleanup.policy", APPEND, "delete"), ("flush.ms", SET, "5"), ("retention.ms", DELETE, None)
    )

    assert said.error_code == 0
    assert admin.overrides(topic) == {"cleanup.policy": "compact,delete", "flush.ms": "5"}


def test_a_resource_is_never_updated_in_part(admin: Admin, topic: str) -> None:
    """Proposed Changes: no partial update of a resource; with one invalid value, nothing is changed."""
    admin.create(topic, configs={"flush.ms": "6"})

    said = admin.alter(
        (TOPIC, topic), ("flush.ms", DELETE, None), ("retention.ms", SET, "5"), ("segment.ms", SET, "never")
    )

    assert said.error_code == 40
    assert admin.overrides(topic) == {"flush.ms": "6"}


def test_an_error_of_one_resource_does_not_affect_others(admin: Admin, topic: str) -> None:
    """Proposed Changes: the error is reported for the resource; other resources are updated."""
    other = f"{topic}-other"
    admin.create(topic, other)

    said = admin.alter_all(
        [((TOPIC, topic), [("segment.ms", SET, "never")]), ((TOPIC, other), [("segment.ms", SET, "5")])]
    )

    assert [(each.resource_name, each.error_code) for each in said] == [(topic, 40), (other, 0)]
    assert (admin.overrides(topic), admin.overrides(other)) == ({}, {"segment.ms": "5"})


def test_a_dry_run_checks_and_changes_nothing(admin: Admin, topic: str) -> None:
    """Proposed Changes, Protocol: the options of AlterConfigs also apply here, including validate_only."""
    admin.create(topic)

    good = admin.alter((TOPIC, topic), ("segment.ms", SET, "5"), dry=True)
    bad = admin.alter((TOPIC, topic), ("compression.type", SET, "zip"), dry=True)

    assert codes([good, bad]) == [0, 40]
    assert admin.overrides(topic) == {}


# -- Protocol --------------------------------------------------------------------------------------------------------


def test_the_operations_are_numbered_from_0_to_3(admin: Admin, topic: str) -> None:
    """Protocol APIs: SET, REMOVE, APPEND and SUBTRACT are 0 to 3; another number fails only its resource."""
    other = f"{topic}-other"
    admin.create(topic, other, configs={"flush.ms": "6", LIST: "1:1", "cleanup.policy": "compact,delete"})
    requests = [("segment.ms", 0, "5"), ("flush.ms", 1, None), (LIST, 2, "0:0"), ("cleanup.policy", 3, "delete")]

    said = admin.alter_all([((TOPIC, topic), [("segment.ms", 4, "5")]), ((TOPIC, other), requests)])

    assert codes(said) == [42, 0]
    assert admin.overrides(other) == {"segment.ms": "5", LIST: "1:1,0:0", "cleanup.policy": "compact"}
    assert "segment.ms" not in admin.overrides(topic)


def test_both_requests_are_answered_in_the_same_form(admin: Admin, topic: str) -> None:
    """Protocol APIs: the response is that of AlterConfigs: type, name, code, and a null message on success."""
    admin.create(topic)

    (replaced,) = admin.replace([((TOPIC, topic), {"segment.ms": "5"})])
    altered = admin.alter((TOPIC, topic), ("segment.ms", SET, "5"))

    assert replaced == altered
    assert (altered.error_code, altered.error_message, altered.resource_type) == (0, None, TOPIC)


@pytest.mark.parametrize("second", [SET, DELETE, APPEND, SUBTRACT])
def test_a_key_given_twice_fails_its_resource(admin: Admin, topic: str, second: int) -> None:
    """Error conditions: a key more than once in a resource is INVALID_REQUEST, whatever the operations."""
    admin.create(topic, configs={"cleanup.policy": "compact"})

    said = admin.alter(
        (TOPIC, topic), ("cleanup.policy", SET, "delete"), ("cleanup.policy", second, "delete"), ("flush.ms", SET, "5")
    )

    assert said.error_code == 42
    assert admin.overrides(topic) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize("op", [APPEND, SUBTRACT])
@pytest.mark.parametrize(
    ("place", "key"), [(TOPIC, "compression.type"), (TOPIC, "no.such.key"), (BROKER, "log.segment.bytes")]
)
def test_list_operations_are_for_lists_only(admin: Admin, topic: str, op: int, place: int, key: str) -> None:
    """Error conditions: APPEND and SUBTRACT on a key that is not a list. The KIP says INVALID_REQUEST; Kafka returns
    40.
    """
    admin.create(topic)

    said = admin.alter((place, topic if place == TOPIC else "1"), (key, op, "1"))

    assert said.error_code == 40
    assert key in said.error_message


def test_the_older_request_is_still_supported(admin: Admin) -> None:
    """Compatibility: AlterConfigs is retained."""
    served = {each.api_key for each in admin.ask("ApiVersions", 0).api_keys}

    assert {33, 44} <= served
