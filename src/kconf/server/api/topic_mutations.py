"""Shared by CreateTopics, DeleteTopics and CreatePartitions: mutation quota (KIP-599), timeouts, audit log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from kconf.engine.quotas.rates import MutationQuota
from kconf.engine.topics.names import name_problem
from kconf.engine.topics.placement import Charge, repeated_names
from kconf.errors import ApiError, StoreError
from kconf.model.resource import Resource
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.server.quotas.manager import user_of
from kconf.service import Planner
from kconf.util.slices import in_slices

T = TypeVar("T")

MAX_DOUBTFUL: Final = 1000
"""Topics of a request that are read before it is refused because of them."""
_PART: Final = 100  # topics that are read at a time


def mutation_quota(
    context: ServerContext, call: ApiRequest, *, strict_from: int
) -> tuple[MutationQuota | None, Charge | None]:
    """The quota of a request.

    Versions from `strict_from` on can fail with THROTTLING_QUOTA_EXCEEDED; older ones are throttled.
    """
    caller = call.caller
    strict = call.version >= strict_from
    quota = context.quotas.mutation(user_of(caller.principal), caller.client_id, strict=strict)
    return quota, quota.charge if quota else None


def throttle_time_ms(context: ServerContext, call: ApiRequest, quota: MutationQuota | None) -> int:
    return context.quotas.record_mutation(user_of(call.caller.principal), call.caller.client_id, quota)


def doubtful_topics(
    context: ServerContext, names: Collection[str], may_change: Callable[[str], bool], *, existing: bool
) -> list[Resource]:
    """The topics that exist, or those that do not, according to a state that is polled and may be outdated.

    Only those that the cluster could have, and at most `MAX_DOUBTFUL`: the last poll decides about the others.
    """
    if context.service.store.polling is None:
        return []
    topics = context.service.state.snapshot.topics
    found = (
        Resource.topic(name)
        for name in in_slices(dict.fromkeys(names))
        if (name in topics) is existing and name_problem(name) is None and may_change(name)
    )
    return list(islice(found, MAX_DOUBTFUL))


async def refresh(context: ServerContext, doubtful: Sequence[Resource]) -> None:
    """Read topics now, in parts between which the changes of others are committed. Raises StoreError."""
    for start in range(0, len(doubtful), _PART):
        await context.service.refresh(doubtful[start : start + _PART])


async def submit(
    context: ServerContext,
    planner: Planner[T],
    call: ApiRequest,
    *,
    validate_only: bool = False,
    doubtful: Sequence[Resource] = (),
) -> T:
    """Submit a change and return its outcome. Raises KafkaError if the request fails as a whole.

    `doubtful` resources are read first, since the change would be refused because of them.
    """
    try:
        await refresh(context, doubtful)
        return await context.service.submit(planner, call.caller, context.policies, validate_only=validate_only)
    except StoreError as error:
        raise store_error(error).error() from None


def needs_time(names: Iterable[str], *, except_for: Collection[str] = ()) -> bool:
    """Whether a request with timeout_ms <= 0 times out.

    As in Kafka, repeated names are refused first. If any names are left, all of them time out, and nothing is changed.
    """
    given = [*names]
    return not set(given) <= repeated_names(given).union(except_for)


def audit(
    context: ServerContext, call: ApiRequest, failures: Mapping[str, ApiError | None], *, dry_run: bool = False
) -> None:
    if dry_run or any(failures.values()):
        entries = ((Resource.topic(name), (), failure) for name, failure in in_slices(failures.items()))
        context.audit_log.record(call.caller, entries, dry_run=dry_run)
