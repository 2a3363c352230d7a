"""Quotas: why a client is throttled, and what a new quota would change before it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.console.links import page_path, quotas_path
from kconf.console.page import BadRequest, Page, PageRequest, PageRoute, Redirect
from kconf.console.pages.change import start_change
from kconf.console.pages.parameters import Paging, paging
from kconf.console.pages.quota_facts import Explanation, asked_entities, explained, shown_quota
from kconf.engine.quotas.alter import QUOTA_KEYS
from kconf.engine.quotas.precedence import StoredQuotas
from kconf.engine.quotas.what_if import what_if
from kconf.errors import ConfigurationError, KconfError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.quota import IP, ClientQuotaAlteration, ClientQuotaOp, QuotaDifference, QuotaEntity
from kconf.operations.quotas.changes import parse_quota
from kconf.operations.quotas.entities import check_keys, entity_text, level_name, quota_number, stored_levels

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot

FIELDS: Final = ("user", "client-id", "ip", "level", "key", "value")
SIZE: Final = 100
MOST_AFFECTED: Final = 200
SEEN: Final = "Only clients that the server has seen recently, and the client above, were checked."
STORED: Final = "Only clients with quotas, and the client above, were checked: Kafka does not list others."


@dataclass(frozen=True)
class StoredRow:
    """A stored quota. `path` is the page that explains it; None for a default."""

    entity: str
    key: str
    value: str
    shown: str
    path: str | None


@dataclass(frozen=True)
class LevelChoice:
    name: str
    entity: str


@dataclass(frozen=True)
class ChangedQuotaRow:
    """A client whose quota would change. `is_asked`: it is the requested client."""

    client: str
    before: str
    before_level: str | None
    after: str
    after_level: str | None
    is_asked: bool


@dataclass(frozen=True)
class QuotaEffect:
    """The effect of a change. `verdict` is about the requested client, `rows` about all clients."""

    entity: str
    key: str
    before: str
    after: str
    verdict: str
    rows: Sequence[ChangedQuotaRow]
    count: int
    notes: Sequence[str]


@dataclass(frozen=True)
class QuotasPage:
    fields: dict[str, str]
    explanations: Sequence[Explanation]
    choices: Sequence[LevelChoice]
    keys: Sequence[str]
    what_if: QuotaEffect | None
    stored: Sequence[StoredRow]
    query: str
    matching: int
    total: int | None
    paging: Paging
    error: str | None
    notes: Sequence[str]
    here: str


def quotas(request: PageRequest) -> Page:
    return _show(request, {each: request.query.get(each, "").strip() for each in FIELDS}, None)


def save(request: PageRequest) -> Page | Redirect:
    """Start a dry run of the entered quota; its page applies it."""
    fields = {each: request.form.get(each, "").strip() for each in FIELDS}
    request.cluster.check_writable()
    try:
        entity, key, value = _wanted(request.cluster.snapshot, fields)
    except ConfigurationError as error:
        return _show(request, fields, str(error))
    op = AlterConfigOp(OpType.DELETE, key, "") if value is None else AlterConfigOp(OpType.SET, key, quota_number(value))
    return start_change(request, {entity.resource: [op]})


def _show(request: PageRequest, fields: dict[str, str], error: str | None) -> Page:
    snapshot = request.cluster.snapshot
    entities = asked_entities(fields["user"], fields["client-id"], fields["ip"])
    missing = [each for each in snapshot.state.missing if each.what == "quotas"]
    notes = [f"Quotas are unknown: {each.failure.message or each.failure.code.name}" for each in missing]
    if not snapshot.is_read:
        notes.append("Quotas are unknown: the cluster has not been read yet.")
    is_known = snapshot.is_read and not missing
    explanations, found = [], None
    try:
        explanations = [explained(snapshot, each) for each in entities] if is_known else []
        if is_known and error is None and fields["key"] and fields["value"]:
            found = _what_if(request, snapshot, fields)
    except ConfigurationError as failure:
        error = str(failure)
    rows = _stored(request, snapshot) if not entities and is_known else []
    place, part = paging(request, len(rows), SIZE)
    page = QuotasPage(
        fields=fields,
        explanations=explanations,
        choices=[
            LevelChoice(level.name, entity_text(dict(level.entity.parts)))
            for each in entities
            for level in stored_levels(snapshot.state.quotas, each)
        ],
        keys=list(dict.fromkeys(key for each in entities for key in check_keys(each, []))) if explanations else (),
        what_if=found,
        stored=rows[part],
        query=request.query.get("q", ""),
        matching=len(rows),
        total=sum(map(len, snapshot.state.quotas.values())) if is_known else None,
        paging=place,
        error=error,
        notes=notes,
        here=quotas_path(str(request.context)),
    )
    return Page("quotas.html", page, "Quotas", "quotas", 400 if error is not None and request.wants_json else 200)


def _stored(request: PageRequest, snapshot: ClusterSnapshot) -> list[StoredRow]:
    word = request.query.get("q", "").lower()
    rows = snapshot.derived("stored quotas", lambda each: _all_stored(str(request.context), each))
    return [each for each in rows if word in f"{each.entity} {each.key}".lower()] if word else rows


def _all_stored(context: str, snapshot: ClusterSnapshot) -> list[StoredRow]:
    rows = [
        StoredRow(
            entity_text(dict(entity.parts)),
            key,
            quota_number(value),
            shown_quota(key, value),
            page_path(context, entity.resource),
        )
        for entity, limits in snapshot.state.quotas.items()
        for key, value in sorted(limits.items())
    ]
    return sorted(rows, key=lambda each: (each.entity, each.key))


# -- what if ---------------------------------------------------------------------------------------------------------


def _wanted(snapshot: ClusterSnapshot, fields: dict[str, str]) -> tuple[QuotaEntity, str, float | None]:
    """The entity, key and value of a change; None removes the quota."""
    entities = asked_entities(fields["user"], fields["client-id"], fields["ip"])
    levels = [level for each in entities for level in stored_levels(snapshot.state.quotas, each)]
    if not levels:
        raise ConfigurationError("enter a user, a client ID or an address first")
    entity = next((each.entity for each in levels if each.name == fields["level"]), None)
    if entity is None:
        raise BadRequest(f"{fields['level']!r} is not a level of this client")
    if fields["key"] not in QUOTA_KEYS:
        raise ConfigurationError(f"{fields['key']!r} is not a quota")
    if not fields["value"]:
        raise ConfigurationError("enter a value, or none to remove the quota")
    return entity, fields["key"], parse_quota(entity, fields["key"], fields["value"])


def _what_if(request: PageRequest, snapshot: ClusterSnapshot, fields: dict[str, str]) -> QuotaEffect:
    entity, key, value = _wanted(snapshot, fields)
    before = snapshot.state.quotas.get(entity, {}).get(key)
    is_address = IP in dict(entity.parts)
    differences, notes = ([], []) if is_address else _differences(request, snapshot, (entity, key, value), fields)
    rows = [_difference(each, fields) for each in differences]
    verdict = _address_verdict(snapshot, fields, entity, key, value) if is_address else _verdict(rows)
    return QuotaEffect(
        entity_text(dict(entity.parts)),
        key,
        "not set" if before is None else shown_quota(key, before),
        "not set" if value is None else shown_quota(key, value),
        verdict,
        rows[:MOST_AFFECTED],
        len(rows),
        notes,
    )


def _differences(
    request: PageRequest,
    snapshot: ClusterSnapshot,
    proposed: tuple[QuotaEntity, str, float | None],
    fields: dict[str, str],
) -> tuple[list[QuotaDifference], list[str]]:
    """The clients whose quota would change. Asks the cluster: a kconf server also knows clients without quotas."""
    entity, key, value = proposed
    stored = StoredQuotas(snapshot.state.quotas)
    alteration = ClientQuotaAlteration(entity, (ClientQuotaOp(key, value),))
    asked = fields["user"], fields["client-id"]
    found = list(what_if(stored, [alteration], [asked]))
    try:
        with request.cluster.target.open() as admin:
            others, note = admin.what_if(entity, {key: value}), SEEN if snapshot.is_kconf else STORED
    except (KconfError, OSError) as error:
        others = list(what_if(stored, [alteration], stored.named()))
        note = f"The cluster could not be read ({error}). Only clients with quotas, and the client above, were checked."
    known = {(each.user or "", each.client_id or "") for each in found}
    return [*found, *(each for each in others if (each.user or "", each.client_id or "") not in known)], [note]


def _difference(difference: QuotaDifference, fields: dict[str, str]) -> ChangedQuotaRow:
    key, before, after = difference.key, difference.before, difference.after
    names = {"user": difference.user, "client-id": difference.client_id}
    return ChangedQuotaRow(
        entity_text({kind: name for kind, name in names.items() if name != ""}),
        shown_quota(key, None if before is None else before.value),
        None if before is None else level_name(before.source),
        shown_quota(key, None if after is None else after.value),
        None if after is None else level_name(after.source),
        (difference.user, difference.client_id) == (fields["user"], fields["client-id"]),
    )


def _verdict(rows: Sequence[ChangedQuotaRow]) -> str:
    own = next((each for each in rows if each.is_asked), None)
    if own is None:
        return "Nothing would change for this client: another level applies, or the quota is the same."
    before = f"{own.before} ({own.before_level})" if own.before_level else own.before
    after = f"{own.after} ({own.after_level})" if own.after_level else own.after
    return f"For this client: {before} → {after}."


def _address_verdict(
    snapshot: ClusterSnapshot, fields: dict[str, str], entity: QuotaEntity, key: str, value: float | None
) -> str:
    asked = QuotaEntity.of({IP: fields["ip"]})
    stored = {each.entity: each.values.get(key) for each in stored_levels(snapshot.state.quotas, asked)}
    before = next((each for each in stored.values() if each is not None), None)
    after = next((each for each in {**stored, entity: value}.values() if each is not None), None)
    change = f"For this address: {shown_quota(key, before)} → {shown_quota(key, after)}."
    others = " It applies to every address without a quota of its own." if entity != asked else ""
    return (change if before != after else "Nothing would change for this address.") + others


PAGES = (PageRoute("/{context}/quotas", quotas), PageRoute("/{context}/quotas", save, ("POST",)))
