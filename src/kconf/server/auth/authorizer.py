"""The authorizer of this server, which follows the ACLs as they are committed.

`authorizer.class.name` may be any of Kafka's own classes; all of them stand for this one. With any other class the
server does not start: ignoring it would allow what the file forbids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from logging import getLogger
from typing import Final

from kconf.configdef.server_settings import (
    ALLOW_EVERYONE,
    AUTHENTICATION_RIGHT,
    SUPER_USERS,
    flag_setting,
    principals,
    text_setting,
)
from kconf.engine.access.acls import AclIndex, Authorizer
from kconf.errors import ConfigurationError
from kconf.model.acl import Authorize, allow_all
from kconf.model.journal import Revision
from kconf.model.resource import ResourceType
from kconf.service import Service
from kconf.store.base import UnknownParts

log = getLogger(__name__)

AUTHORIZER: Final = "authorizer.class.name"
OURS: Final = frozenset(
    [
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
    ]
)


def check_authorizer(static: Mapping[str, str]) -> None:
    """Refuse an authorizer that is not ours."""
    name = static.get(AUTHORIZER, "").strip()
    if name and name not in OURS:
        raise ConfigurationError(f"{AUTHORIZER}: kconf does not support {name}; use one of {', '.join(OURS)}")


def check_known_acls(static: Mapping[str, str], unknown: UnknownParts) -> None:
    """Refuse a gateway that would allow everything because its cluster does not show the ACLs."""
    refusal = unknown.kinds.get(ResourceType.ACL)
    if refusal is None or not static.get(AUTHORIZER, "").strip():
        return
    if flag_setting(static, ALLOW_EVERYONE):
        raise ConfigurationError(
            f"{ALLOW_EVERYONE}=true: the cluster does not show its ACLs ({refusal}), so everybody could do everything;"
            " allow the gateway's account to describe the cluster"
        )
    log.warning("the cluster does not show its ACLs (%s): only super users can do anything", refusal)


def authorizer_of(service: Service) -> Authorizer | None:
    """The authorizer that the static configuration names; it follows the commits from now on."""
    static = service.settings.static
    if not static.get(AUTHORIZER, "").strip():
        return None
    index = AclIndex(service.state.snapshot)

    def on_commit(revisions: Sequence[Revision]) -> None:
        touched = {
            change.resource
            for revision in revisions
            for change in revision.changes
            if change.resource.type == ResourceType.ACL
        }
        for resource in touched:
            index.replace(resource, service.state.snapshot.overrides(resource))

    service.subscribe(on_commit)
    return Authorizer(
        index,
        super_users=principals(text_setting(static, SUPER_USERS)),
        allow_if_none=flag_setting(static, ALLOW_EVERYONE),
    )


def authorize_function(authorizer: Authorizer | None, principal: str, host: str) -> Authorize:
    """What this principal, from this host, may do. ACLs are looked up for each request: a change acts at once."""
    if authorizer is None or principal in authorizer.super_users:
        return allow_all
    return partial(authorizer.allows, principal, host)


def alters_authentication(authorizer: Authorizer | None, principal: str, static: Mapping[str, str]) -> bool:
    """Whether the right to alter the cluster's configs includes those that control authentication."""
    if authorizer is None or principal in authorizer.super_users:
        return True
    return not flag_setting(static, AUTHENTICATION_RIGHT)
