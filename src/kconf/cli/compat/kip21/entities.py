"""KIP-21's view of configuration: entities of two types, topic and client, and their overrides as strings.

Its two errors are shown by name: InvalidEntity for a wrong type or name, InvalidEntityConfig for a wrong key or value.
Implemented with Kafka's own requests, so that it works on any cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import ErrorCode, KafkaError, KconfError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.quota import QuotaEntity
    from kconf.model.resource import Resource

CLIENT_KEYS: Final = ("producer_byte_rate", "consumer_byte_rate")
_KINDS: Final = {"topic": "topic", "topics": "topic", "client": "client", "clients": "client"}
_OF_THE_ENTITY: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)
_OF_ITS_CONFIG: Final = (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST)


class Kip21Error(KconfError):
    """An error that prints as its name and a message."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{type(self).__name__}: {message}")


class InvalidEntity(Kip21Error):
    """Unknown type or name."""


class InvalidEntityConfig(Kip21Error):
    """The entity does not accept this key or value."""


class Entity(NamedTuple):
    kind: str
    name: str

    @classmethod
    def of(cls, kind: str | None, name: str | None) -> Entity:
        if kind not in _KINDS:
            raise InvalidEntity(
                f"an entity is a topic or a client, not {kind!r}" if kind else "--entity-type is required"
            )
        if not name:
            raise InvalidEntity(f"a {_KINDS[kind]} needs a name")
        return cls(_KINDS[kind], name)

    def __str__(self) -> str:
        return f"{self.kind}s:{self.name}"

    @property
    def updated(self) -> str:
        """The output line of the first kafka-configs (2015), for which KIP-21 was written."""
        word = "topic" if self.kind == "topic" else "clientId"
        return f'Updated config for {word}: "{self.name}".'

    @property
    def resource(self) -> Resource:
        from kconf.model.resource import Resource

        return Resource.topic(self.name)

    @property
    def quotas(self) -> QuotaEntity:
        from kconf.model.quota import CLIENT_ID, QuotaEntity

        return QuotaEntity.of({CLIENT_ID: self.name})


def describe(admin: SyncAdminClient, entity: Entity) -> dict[str, str]:
    """The configs set on the entity itself."""
    from kconf.model.entry import Source

    try:
        if entity.kind == "client":
            from kconf.model.quota import QuotaFilter

            stored = admin.describe_client_quotas(QuotaFilter.exactly(entity.quotas)).get(entity.quotas, {})
            return {key: f"{value:.0f}" for key, value in stored.items() if key in CLIENT_KEYS}
        view = admin.describe_configs([entity.resource])[entity.resource]
    except KafkaError as error:
        raise translated(error) from error
    return {each.name: each.value or "" for each in view.entries if each.source is Source.TOPIC}


def alter(
    admin: SyncAdminClient, entity: Entity, added: Mapping[str, str], deleted: Sequence[str], *, dry_run: bool = False
) -> None:
    """Set and delete configs together; defaults apply to deleted configs again."""
    from kconf.model.alteration import AlterConfigOp, OpType

    twice = sorted(set(added).intersection(deleted))
    if twice:
        raise InvalidEntityConfig(f"{', '.join(twice)} cannot be both added and deleted")
    try:
        if entity.kind == "client":
            changes = {**_numbers(added), **dict.fromkeys(_known(deleted))}
            admin.alter_client_quotas({entity.quotas: changes}, validate_only=dry_run)[entity.quotas]
            return
        _check_deleted(admin, entity, deleted)
        ops = [
            *(AlterConfigOp(OpType.SET, key, value) for key, value in added.items()),
            *(AlterConfigOp(OpType.DELETE, key) for key in deleted),
        ]
        admin.incremental_alter_configs({entity.resource: ops}, validate_only=dry_run)[entity.resource]
    except KafkaError as error:
        raise translated(error) from error


def _check_deleted(admin: SyncAdminClient, entity: Entity, deleted: Sequence[str]) -> None:
    """KIP-21: deleting an unknown key is an error. Brokers ignore it, so it is checked here.

    A key unknown to kconf may belong to a newer or older Kafka: then the topic shows it.
    """
    from kconf.configdef.lookup import known_key
    from kconf.model.resource import ResourceType

    unknown = [key for key in deleted if known_key(ResourceType.TOPIC, key) is None]
    if unknown:
        there = {each.name for each in admin.describe_configs([entity.resource])[entity.resource].entries}
        for key in unknown:
            if key not in there:
                raise InvalidEntityConfig(f"unknown topic config {key}")


def _numbers(added: Mapping[str, str]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for key in _known(added):
        text = added[key]
        if not text.strip().isdecimal():
            raise InvalidEntityConfig(f"{key} must be an integer, not {text!r}")
        found[key] = float(text)
    return found


def _known(keys: Mapping[str, str] | Sequence[str]) -> list[str]:
    unknown = [key for key in keys if key not in CLIENT_KEYS]
    if unknown:
        raise InvalidEntityConfig(f"{unknown[0]} is not a config of a client; use {' or '.join(CLIENT_KEYS)}")
    return list(keys)


def translated(error: KafkaError) -> KconfError:
    if error.code in _OF_THE_ENTITY:
        return InvalidEntity(str(error))
    if error.code in _OF_ITS_CONFIG:
        return InvalidEntityConfig(str(error))
    return error
