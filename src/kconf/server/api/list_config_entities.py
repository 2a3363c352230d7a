"""ListConfigEntities (24802): which users and clients have quotas.

As in KIP-248, the name "." means all names (`type:CLIENT name:.`); null means the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconf.engine.quotas.filter import clients, clients_of, users
from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import Name
from kconf.errors import InvalidRequest, KafkaError, NotAuthorized
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.describe_quotas import QuotaResource
from kconf.protocol.messages.list_config_entities import (
    ListConfigEntitiesRequest,
    ListConfigEntitiesResponse,
    ListedConfigEntity,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_USER, _CLIENT = 5, 6
_EVERY = "."


def handle(context: ServerContext, request: ListConfigEntitiesRequest, call: ApiRequest) -> ListConfigEntitiesResponse:
    try:
        if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized(NotAuthorized.stock)
        wanted = {each.type: None if each.name == _EVERY else each.name for each in in_slices(request.entities)}
        if not wanted or len(wanted) < len(request.entities) or not wanted.keys() <= {_USER, _CLIENT}:
            raise InvalidRequest("specify users (5), clients (6), or both, each type once")
    except KafkaError as error:
        failure = error.failure()
        return ListConfigEntitiesResponse(error_code=failure.code, error_message=failure.message)
    found = list(_found(context.quotas.index, wanted))
    return ListConfigEntitiesResponse(
        entities=[ListedConfigEntity([_part(*part) for part in parts]) for parts in in_slices(found)]
    )


def _found(index: QuotaIndex, wanted: dict[int, str | None]) -> Iterator[list[tuple[int, Name]]]:
    """The matching entities, with None for the default.

    `wanted` maps a type to a name, "" for the default or None for all.
    """
    if _USER not in wanted:
        yield from ([(_CLIENT, name)] for name in clients(index) if _is(wanted[_CLIENT], name))
        return
    named = [name for name in users(index) if _is(wanted[_USER], name)]
    if _CLIENT not in wanted:
        yield from ([(_USER, name)] for name in named)
        return
    for user in named:
        yield from ([(_USER, user), (_CLIENT, name)] for name in clients_of(index, user) if _is(wanted[_CLIENT], name))


def _is(wanted: str | None, name: Name) -> bool:
    return wanted is None or wanted == (name or "")


def _part(kind: int, name: Name) -> QuotaResource:
    return QuotaResource(kind, name or "")
