"""Quotas of users, clients, pairs of them and IP addresses, and SCRAM credentials of users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.compat.kafka_configs.entities import CLIENTS, IPS, USERS, Entities
from kconf.errors import ApiError, ResourceNotFound
from kconf.model.quota import CLIENT_ID, IP, USER, MatchType, QuotaComponent, QuotaEntity, QuotaFilter
from kconf.util.visible_text import visible

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.scram import CredentialInfo

PARTS: Final = {USERS: USER, CLIENTS: CLIENT_ID, IPS: IP}
_WORDS: Final = ((USER, "user-principal"), (CLIENT_ID, "client-id"), (IP, "ip"))
TIMEOUT: Final = 30.0


def entity_of(given: Entities) -> QuotaEntity:
    """The entity to alter."""
    return QuotaEntity.of({PARTS[kind]: name or None for kind, name in zip(given.types, given.names, strict=True)})


def filter_of(given: Entities) -> QuotaFilter:
    """The filter: a name or the default matches exactly, no name matches any. Strict: a user does not match its
    clients.
    """
    names: list[str | None] = [*given.names, *[None] * (len(given.types) - len(given.names))]
    return QuotaFilter(
        tuple(_component(PARTS[kind], name) for kind, name in zip(given.types, names, strict=True)), strict=True
    )


def _component(part: str, name: str | None) -> QuotaComponent:
    if name is None:
        return QuotaComponent(part, MatchType.ANY)
    return QuotaComponent(part, MatchType.EXACT, name) if name else QuotaComponent(part, MatchType.DEFAULT)


def describe_quotas(admin: SyncAdminClient, given: Entities, *, json: bool) -> int:
    quotas = admin.describe_client_quotas(filter_of(given), timeout=TIMEOUT)
    found: list[dict[str, Any]] = []
    for entity in sorted(quotas, key=_order):
        if json:
            found.append({"entity": dict(entity.parts), "quotas": quotas[entity]})
        else:
            print(visible(quota_line(entity, quotas[entity])))
    if CLIENTS not in given.types and IPS not in given.types and "" not in given.names:
        _describe_scram(admin, given.names, found if json else None)
    if json:
        from json import dumps

        print(dumps({"entities": found}, indent=2, ensure_ascii=False))
    return 0


def _order(entity: QuotaEntity) -> list[tuple[str, bool, str]]:
    return [(part, name is None, name or "") for part, name in entity.parts]


def quota_line(entity: QuotaEntity, quotas: Mapping[str, float]) -> str:
    from kconf.configdef.java.parsing import java_double

    parts = dict(entity.parts)
    who = ", ".join(
        f"{word} '{parts[part]}'" if parts[part] is not None else f"the default {word}"
        for part, word in _WORDS
        if part in parts
    )
    return f"Quota configs for {who} are {', '.join(f'{key}={java_double(value)}' for key, value in quotas.items())}"


def _describe_scram(admin: SyncAdminClient, names: tuple[str, ...], found: list[dict[str, Any]] | None) -> None:
    results = admin.describe_user_scram_credentials(names or None, timeout=TIMEOUT)
    failures = results.failures
    for user in sorted(results):
        failure = failures.get(user)
        if failure is not None and failure.code == ResourceNotFound.code:
            continue
        message = _failed(user, failure) if failure is not None else scram_line(user, results[user])
        if found is None:
            print(visible(message))
        elif failure is not None:
            found.append({"entity": {USER: user}, "error": message})
        else:
            infos = {each.mechanism.word: {"iterations": each.iterations} for each in results[user]}
            found.append({"entity": {USER: user}, "credentials": infos})


def scram_line(user: str, infos: tuple[CredentialInfo, ...]) -> str:
    listed = ", ".join(f"{each.mechanism.word}=iterations={each.iterations}" for each in infos)
    return f"SCRAM credential configs for user-principal '{user}' are {listed}"


def _failed(user: str, failure: ApiError) -> str:
    from kconf.cli.compat.kafka_configs.java import PACKAGE, sentence

    return (
        f"Error retrieving SCRAM credential configs for user-principal '{user}': {PACKAGE}{sentence(failure.error())}"
    )
