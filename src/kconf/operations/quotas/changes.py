"""Builds change requests for quotas of one entity or thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kconf.errors import ApiError, ConfigurationError, KafkaError
from kconf.operations.execute import ChangeRequest
from kconf.operations.planned_change import ChangePlan, PlannedChange
from kconf.operations.quotas.entities import check_keys, entity_text, quota_levels, quota_number, stored_levels

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.quotas.precedence import Stored
    from kconf.model.quota import QuotaEntity
    from kconf.model.resource import Resource
    from kconf.operations.execute import SendResult

QuotaChanges = Mapping[str, float | None]
"""New quotas by key; None removes."""


# -- arguments -------------------------------------------------------------------------------------------------------


def parse_quotas(entity: QuotaEntity, arguments: Sequence[str]) -> dict[str, float | None]:
    """Parse KEY=VALUE arguments; the value `none` removes a quota."""
    found: dict[str, float | None] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals:
            raise ConfigurationError(f"{argument!r} is not KEY=VALUE")
        if key in found:
            raise ConfigurationError(f"{key} was given twice")
        found[key] = parse_quota(entity, key, text)
    return found


def parse_quota(entity: QuotaEntity, key: str, text: str) -> float | None:
    """The value of a quota, which may have a unit; None removes the quota."""
    from kconf.configdef.units import raw_value
    from kconf.engine.quotas.alter import QUOTA_KEYS, quota_text
    from kconf.errors import InvalidRequest

    check_keys(entity, [key])
    if text.strip() == "none":
        return None
    raw = raw_value(QUOTA_KEYS[key], text)
    try:
        return float(quota_text(QUOTA_KEYS[key], float(raw)))
    except ValueError:
        raise ConfigurationError(f"{key} must be a number, not {text!r}") from None
    except InvalidRequest as error:
        raise ConfigurationError(str(error)) from None


# -- requests --------------------------------------------------------------------------------------------------------


def entity_request(
    command: str, admin: SyncAdminClient, entity: QuotaEntity, changes: QuotaChanges, reason: str | None
) -> ChangeRequest:
    """Change the quotas of one entity; without changes, remove all of them."""
    levels = quota_levels(admin, entity)
    own = next(each for each in levels if each.entity == entity)
    stored = {each.entity: each.values for each in levels}
    wanted = {own.entity: changes or dict.fromkeys(own.values)}
    return quotas_request(command, admin, wanted, stored, reason)


def quotas_request(
    command: str,
    admin: SyncAdminClient,
    wanted: Mapping[QuotaEntity, QuotaChanges],
    stored: Stored,
    reason: str | None,
    *,
    confirm: bool = False,
) -> ChangeRequest:
    """Change several entities; `stored` has the current quotas. Changing a default always needs confirmation."""
    present = _PresentQuotas(stored)
    by_resource = {entity.resource: (entity, changes) for entity, changes in wanted.items()}

    def send(resources: Sequence[Resource], validate_only: bool) -> SendResult:
        some = dict(by_resource[each] for each in resources)
        failures = _alter(admin, some, validate_only=validate_only, reason=reason)
        return {each: failures.get(by_resource[each][0]) for each in resources}

    one = next(iter(wanted))
    whose = entity_text(dict(one.parts)) if len(wanted) == 1 else f"{len(wanted)} entities"
    return ChangeRequest(
        command=command,
        plan=ChangePlan([each for entity, new in wanted.items() for each in present.changes(entity, new)], {}),
        send=send,
        summary=f"change quotas of {whose}",
        confirm=confirm or any(name is None for entity in wanted for _, name in entity.parts),
    )


class _PresentQuotas:
    """The quotas before a change."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def changes(self, entity: QuotaEntity, new_quotas: QuotaChanges) -> list[PlannedChange]:
        """The changes at the entity itself, and the effective values before and after."""
        own, resource, changes = self._stored.get(entity, {}), entity.resource, []
        for key, value in new_quotas.items():
            before, after = _text(own.get(key)), _text(value)
            source, inherited = self._inherited(entity, key)
            op, old, new = "set" if after else "delete", before or inherited, after or inherited
            changes.append(PlannedChange(resource, key, before, after, op, old, new, "own" if before else source))
        return changes

    def _inherited(self, entity: QuotaEntity, key: str) -> tuple[str, str | None]:
        """The effective quota of an entity without its own quota, and its level."""
        for level in stored_levels(self._stored, entity):
            if level.entity != entity and key in level.values:
                return level.name, quota_number(level.values[key])
        return "", None


def _text(value: float | None) -> str | None:
    return None if value is None else quota_number(value)


def _alter(
    admin: SyncAdminClient, wanted: Mapping[QuotaEntity, QuotaChanges], *, validate_only: bool, reason: str | None
) -> dict[QuotaEntity, ApiError]:
    """Alter users and clients with KIP-248, IP addresses with AlterClientQuotas."""
    from kconf.model.quota import IP

    addresses = {each: changes for each, changes in wanted.items() if IP in dict(each.parts)}
    others = {each: changes for each, changes in wanted.items() if each not in addresses}
    failures: dict[QuotaEntity, ApiError] = {}
    if others:
        failures.update(admin.alter_quotas(others, validate_only=validate_only, reason=reason).failures)
    if addresses:
        try:
            failures.update(admin.alter_client_quotas(addresses, validate_only=validate_only, reason=reason).failures)
        except KafkaError as error:
            if not others:
                raise
            failures.update(dict.fromkeys(addresses, error.failure()))  # the others are done
    return failures
