"""The parts of a running console: settings, monitors, sessions, logins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.cluster.monitors import Monitors
from kconf.console.security.login import KafkaLogin, LoginMethod
from kconf.console.security.sessions import Sessions
from kconf.errors import KconfError

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.console.security.sessions import Session
    from kconf.console.settings import ConsoleSettings
    from kconf.operations.target import Target

_TIDY: Final = 60.0  # seconds
FIRST_WAIT: Final = 3.0
"""Seconds that a page waits for the first read of a cluster; after that it never waits."""


class NotFound(KconfError):
    """There is no such page, context or resource."""


class LoginRequired(KconfError):
    """The cluster is shown only to people who are logged in to it."""

    def __init__(self, context: str) -> None:
        super().__init__(f"log in to {context}")
        self.context = context


@dataclass(frozen=True)
class Cluster:
    """The cluster of a page, as the person may see it. `user` is None if there are no logins."""

    name: str
    monitor: ClusterMonitor
    user: str | None = None

    @property
    def target(self) -> Target:
        return self.monitor.target

    @property
    def snapshot(self) -> ClusterSnapshot:
        return self.monitor.wait(FIRST_WAIT)


class Console:
    """Opened with `with`: the monitors run until its end."""

    def __init__(self, settings: ConsoleSettings, login: LoginMethod | None = None) -> None:
        self.settings = settings
        self.sessions = Sessions()
        self.monitors = Monitors(settings)
        self.login = login or KafkaLogin()

    def __enter__(self) -> Console:
        self.monitors.__enter__()
        if self.settings.login:
            self.monitors.repeat(_TIDY, self.end_unused)
        return self

    def __exit__(self, *_: object) -> None:
        self.monitors.__exit__()

    @property
    def contexts(self) -> Sequence[str]:
        return list(self.monitors.targets)

    def cluster(self, name: str, session: Session) -> Cluster:
        """A cluster as the person of the session sees it."""
        if name not in self.monitors.targets:
            raise NotFound(f"no context {name!r}")
        if not self.settings.login:
            return Cluster(name, self.monitors.monitor(name, None))
        credential = session.credentials.get(name)
        if credential is None:
            raise LoginRequired(name)
        return Cluster(name, self.monitors.monitor(name, credential), credential.user)

    def end_unused(self) -> None:
        """Stop the monitors of people whose sessions have ended."""
        self.monitors.retain(self.sessions.credentials())
