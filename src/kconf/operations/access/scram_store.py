"""SCRAM credentials in a store that no server has open, with the same two calls as an admin client."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from kconf.engine.access.scram_credentials import describe_credentials, plan_alter_credentials
from kconf.errors import ApiError, RevisionConflict
from kconf.model.journal import RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.results import Results
from kconf.model.scram import UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.store.registry import open_store

if TYPE_CHECKING:
    from kconf.model.scram import CredentialInfo


class StoredCredentials:
    """Locks the store until it is closed. Use it in a `with` block."""

    def __init__(self, url: str, *, principal: str) -> None:
        self._store = open_store(url)
        self._principal = principal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> Results[str, tuple[CredentialInfo, ...]]:
        names = None if users is None else list(users)
        found = describe_credentials(self._store.load(), names)
        return Results({user: each if isinstance(each, ApiError) else tuple(each) for user, each in found.items()})

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        reason: str | None = None,
    ) -> Results[str, None]:
        requested = list(alterations)
        plan = plan_alter_credentials(
            self._store.load(),
            [each for each in requested if isinstance(each, UserScramCredentialDeletion)],
            [each for each in requested if isinstance(each, UserScramCredentialUpsertion)],
        )
        if plan.changes:
            caller = RequestContext(self._principal, "kconf", "localhost", "kconf scram-credentials", reason=reason)
            pending = PendingCommit(caller, int(time.time() * 1000), plan.changes, plan.guards)
            (committed,) = self._store.commit([pending])
            if isinstance(committed, RevisionConflict):
                raise committed
        return Results(dict(plan.outcome))


def own_name() -> str:
    """The name of the operating system user."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):
        return str(os.getuid())
