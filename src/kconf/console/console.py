"""The parts of a running console: settings, monitors, sessions, logins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.client.contexts.config_providers import takes_tokens
from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.cluster.monitors import Monitors
from kconf.console.security.login import KafkaLogin, LoginLimiter, LoginMethod
from kconf.console.security.oidc.login import OidcLogin
from kconf.console.security.sessions import LoginSessions
from kconf.errors import ConfigurationError, KconfError

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.security.oidc.login import OidcIdentity
    from kconf.console.security.sessions import Session
    from kconf.console.settings import ConsoleSettings
    from kconf.operations.target import Credential, Target

_TIDY: Final = 60.0  # seconds
_CANNOT: Final = "You can view this cluster but not change it"
FIRST_WAIT: Final = 3.0
"""Seconds that a page waits for the first read of a cluster; after that it never waits."""


class NotFound(KconfError):
    """There is no such page, context or resource."""


class LookOnly(KconfError):
    """The person can view the cluster but not change it."""


class LoginRequired(KconfError):
    """The cluster is shown only to people who are logged in to it."""

    def __init__(self, context: str) -> None:
        super().__init__(f"log in to {context}")
        self.context = context


@dataclass(frozen=True)
class Cluster:
    """The cluster of a page, as the person may see it. `user` is None if there are no logins.

    `look_only` is the reason why the person cannot change anything; empty: the cluster decides.
    """

    name: str
    monitor: ClusterMonitor
    user: str | None = None
    look_only: str = ""

    @property
    def target(self) -> Target:
        return self.monitor.target

    @property
    def snapshot(self) -> ClusterSnapshot:
        return self.monitor.wait(FIRST_WAIT)

    @property
    def can_change(self) -> bool:
        """Whether a form is shown; the cluster may still refuse what it sends."""
        return not self.look_only and not self.target.context.read_only

    def check_writable(self) -> None:
        """Raise an error, before anything is sent, if nothing can be changed through the console."""
        if self.look_only:
            raise LookOnly(self.look_only)
        self.target.check_writable()


class Console:
    """Opened with `with`: the monitors run until its end."""

    def __init__(self, settings: ConsoleSettings, login: LoginMethod | None = None) -> None:
        self.settings = settings
        self.sessions = LoginSessions()
        self.monitors = Monitors(settings)
        limiter = LoginLimiter()
        self.login = login or KafkaLogin(limiter)
        self.oidc = None if settings.oidc is None else OidcLogin(settings.oidc, limiter=limiter)
        self._takes_tokens = {each.name for each in settings.targets if _takes_tokens(each)}

    def __enter__(self) -> Console:
        self.monitors.__enter__()
        if self.settings.has_logins:
            self.monitors.repeat(_TIDY, self.end_unused)
        return self

    def __exit__(self, *_: object) -> None:
        self.monitors.__exit__()

    @property
    def contexts(self) -> Sequence[str]:
        return list(self.monitors.targets)

    def cluster(self, name: str, session: Session, wait: float = FIRST_WAIT) -> Cluster:
        """A cluster as the person of the session sees it. `wait`: seconds for a cluster that was never read."""
        if name not in self.monitors.targets:
            raise NotFound(f"no context {name!r}")
        if not self.settings.has_logins:
            return Cluster(name, self.monitors.monitor(name, None))
        credential = session.credentials.get(name)
        if credential is not None:
            return Cluster(name, self.monitors.monitor(name, credential), credential.user)
        if session.identity is None or session.identity.tokens.has_ended:
            raise LoginRequired(name)
        return self._cluster_of(name, session.identity, wait)

    def _cluster_of(self, name: str, identity: OidcIdentity, wait: float) -> Cluster:
        """The cluster with the person's own token if accepted; otherwise with the context's credential, view only."""
        if name not in self._takes_tokens:
            why = f"{_CANNOT}: its context does not use OAUTHBEARER, so {name} does not know your account."
            return Cluster(name, self.monitors.monitor(name, None), identity.user, why)
        if not identity.tokens.can_act:
            raise LoginRequired(name)
        own = self.monitors.monitor(name, identity.credential)
        snapshot = own.wait(wait)
        if snapshot.is_refused:
            why = f"{_CANNOT}: {name} did not accept your login. {snapshot.error}"
            return Cluster(name, self.monitors.monitor(name, None), identity.user, why)
        if not snapshot.is_read:
            why = f"{_CANNOT}: it is not known yet whether {name} accepts your login."
            return Cluster(name, own, identity.user, why)
        why = "" if snapshot.is_kconf else f"{_CANNOT}: {name} is not a kconf server or gateway."
        return Cluster(name, own, identity.user, why)

    def end_unused(self) -> None:
        """Stop the monitors of people whose sessions have ended."""
        used: set[tuple[str, Credential]] = set()
        for each in self.sessions.current():
            used.update(each.credentials.items())
            if each.identity is not None and not each.identity.tokens.has_ended:
                used.update((name, each.identity.credential) for name in self.contexts)
        self.monitors.retain(used)


def _takes_tokens(target: Target) -> bool:
    try:
        return takes_tokens(target.context)
    except ConfigurationError:  # a missing file; the pages of the cluster show the error
        return False
