"""The authorizer of this server. It is updated with every committed ACL change.

`authorizer.class.name` may be any of Kafka's own classes; all of them select this authorizer. With any other class the
server does not start, because ignoring the class would allow what it denies. A gateway may have its own
ACLs (acl_file.py).
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
from kconf.engine.access.acls import AclIndex, Authorizer, host_at_kafka, same_host
from kconf.errors import ConfigurationError, ErrorCode
from kconf.model.acl import Authorize, allow_all
from kconf.model.journal import Revision
from kconf.model.resource import ResourceType
from kconf.service import Service
from kconf.store.base import STANDARD_AUTHORIZERS, UnknownParts

log = getLogger(__name__)

AUTHORIZER: Final = "authorizer.class.name"


def check_authorizer(static: Mapping[str, str]) -> None:
    """Refuse an authorizer class that kconf does not support."""
    name = static.get(AUTHORIZER, "").strip()
    if name and name not in STANDARD_AUTHORIZERS:
        known = ", ".join(sorted(STANDARD_AUTHORIZERS))
        raise ConfigurationError(f"{AUTHORIZER}: kconf does not support {name}; use one of {known}")


def check_known_acls(static: Mapping[str, str], unknown: UnknownParts) -> None:
    """Refuse to start a gateway that would allow everything because it cannot read the cluster's ACLs.

    A gateway in front of an authorizer that is not Kafka's has its own ACLs instead (`check_gateway`).
    """
    refusal = unknown.kinds.get(ResourceType.ACL)
    if refusal is None or not static.get(AUTHORIZER, "").strip():
        return
    if flag_setting(static, ALLOW_EVERYONE):
        if refusal.code == ErrorCode.SECURITY_DISABLED:
            return  # the cluster also allows everything without ACLs
        raise ConfigurationError(
            f"{ALLOW_EVERYONE}=true: the gateway cannot read the cluster's ACLs ({refusal}), so every user would be"
            " allowed everything; grant the gateway's principal Describe on the cluster"
        )
    log.warning("cannot read the cluster's ACLs (%s): all requests are denied, except those of super users", refusal)


def authorizer_of(service: Service, own: AclIndex | None = None) -> Authorizer | None:
    """The authorizer that the static configuration names, or None. It is updated with every commit from now on.

    `own` are ACLs that replace those of the state.
    """
    static = service.settings.static
    if own is not None:
        return _authorizer(own, static)
    if not static.get(AUTHORIZER, "").strip():
        return None
    is_gateway = service.store.brokers_static is not None
    index = AclIndex(service.state.snapshot, host_of=host_at_kafka if is_gateway else same_host)

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
    return _authorizer(index, static)


def _authorizer(index: AclIndex, static: Mapping[str, str]) -> Authorizer:
    return Authorizer(
        index,
        super_users=principals(text_setting(static, SUPER_USERS)),
        allow_if_none=flag_setting(static, ALLOW_EVERYONE),
    )


def authorize_function(authorizer: Authorizer | None, principal: str, host: str) -> Authorize:
    """The authorization of a principal on a host. ACLs are looked up for each request, so changes apply immediately."""
    if authorizer is None or principal in authorizer.super_users:
        return allow_all
    return partial(authorizer.allows, principal, host)


def alters_authentication(authorizer: Authorizer | None, principal: str, static: Mapping[str, str]) -> bool:
    """Whether a principal that may alter the cluster's configs may also alter the keys that control authentication."""
    if authorizer is None or principal in authorizer.super_users:
        return True
    return not flag_setting(static, AUTHENTICATION_RIGHT)
