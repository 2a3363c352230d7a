"""Loads the authentication and TLS settings of listeners from the broker configs.

`start_problems` decides whether a restart could load them. A change that would make a restart fail is refused before it
is committed (`StartCheck`). New certificates apply to new connections; setting a key again to the same value reloads
the key stores and trust stores. Open connections keep their settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from logging import getLogger
from typing import TYPE_CHECKING

from kconf.configdef.dynamic import without_listener
from kconf.engine.configs.alter import BrokerChange
from kconf.errors import ConfigurationError, InvalidRequest, RequestTimedOut, StoreUnavailable
from kconf.model.alteration import OpType
from kconf.model.journal import Revision
from kconf.security.allowed_files import AllowedFiles
from kconf.server.auth.sasl_config import (
    JAAS,
    REAUTH,
    RULES,
    parse_rules,
    read_number,
    read_plain_users,
    read_principal_rules,
    read_sasl_settings,
)
from kconf.server.auth.tls_loader import TlsLoader, TlsSettings
from kconf.server.listener_config import EndPoint

if TYPE_CHECKING:
    from kconf.server.auth.tls_alerts import AlertingSslContext

log = getLogger(__name__)

_PASSES = 3  # rounds of reading: the current stores, then the new ones


class ListenerTls:
    """The TLS context of one listener, for new connections. The constructor reads the stores in this process."""

    def __init__(self, endpoint: EndPoint, effective: Mapping[str, str], files: AllowedFiles) -> None:
        from kconf.server.auth.tls_context import new_context, read_material

        self.endpoint = endpoint
        self.settings = self.settings_in(effective)
        given = dict(self.settings)
        self.context = new_context(endpoint.name, given, read_material(endpoint.name, given, files.read))

    def settings_in(self, effective: Mapping[str, str]) -> TlsSettings:
        from kconf.server.auth.tls_context import tls_settings

        return frozenset(tls_settings(self.endpoint, effective).items())

    def install(self, settings: TlsSettings, context: AlertingSslContext) -> None:
        self.settings, self.context = settings, context
        log.info("listener %s loaded new certificates", self.endpoint)

    def check_identity(self, settings: TlsSettings, context: AlertingSslContext) -> None:
        from kconf.server.auth.tls_context import check_same_identity

        check_same_identity(self.context.identity, context.identity, self.endpoint.name, dict(settings))

    def reads(self, keys: Collection[str]) -> bool:
        """Whether one of these keys affects the TLS settings of this listener."""
        return any(key.startswith(("ssl.", self.endpoint.prefixed("ssl."))) for key in keys)


class ListenerSecurity:
    """The TLS contexts of all listeners, updated with every commit."""

    def __init__(self, effective: Callable[[], Mapping[str, str]], files: AllowedFiles | None = None) -> None:
        self.endpoints: list[EndPoint] = []
        self.tls: list[ListenerTls] = []
        self.files = files or AllowedFiles()
        self._effective = effective
        self._loader: TlsLoader | None = None
        self._checks: set[StartCheck] = set()  # of requests in progress
        self._reloads: set[asyncio.Task[None]] = set()

    @property
    def loader(self) -> TlsLoader:
        self._loader = self._loader or TlsLoader(self.files)
        return self._loader

    def open(self, endpoint: EndPoint) -> ListenerTls | None:
        """Read the settings of a new listener. Returns its TLS context, if it uses TLS. Raises ConfigurationError."""
        effective = self._effective()
        for problem in start_problems(endpoint, effective).values():
            raise ConfigurationError(problem)
        self.endpoints.append(endpoint)
        if not endpoint.protocol.tls:
            return None
        tls = ListenerTls(endpoint, effective, self.files)
        self.tls.append(tls)
        return tls

    def start_check(self) -> StartCheck:
        """A check for one request. Use it in a `with` block."""
        return StartCheck(self)

    def on_commit(self, _: Sequence[Revision]) -> None:
        """Use the stores that the check of the change has read. Changes by other servers are read in the background."""
        for tls in self.tls:
            settings = tls.settings_in(self._effective())
            if settings == tls.settings:
                continue
            read = (each.contexts.get((tls.endpoint.name, settings)) for each in self._checks)
            context = next((each for each in read if each is not None and not isinstance(each, str)), None)
            if context is not None:
                tls.install(settings, context)
            else:
                task = asyncio.get_running_loop().create_task(self._reload(tls, settings), name="certificates")
                self._reloads.add(task)
                task.add_done_callback(self._reloads.discard)

    async def close(self) -> None:
        """Stop reading stores. Requests that wait for one fail."""
        self.loader.stop()
        for task in tuple(self._reloads):
            task.cancel()
        await asyncio.gather(*self._reloads, return_exceptions=True)

    def register(self, check: StartCheck) -> None:
        self._checks.add(check)

    def unregister(self, check: StartCheck) -> None:
        self._checks.discard(check)

    def reread(self, check: StartCheck, keys: Collection[str]) -> None:
        """Use the stores as the check has read them: these keys were set, perhaps to the same values."""
        for tls in self.tls:
            context = check.contexts.get((tls.endpoint.name, tls.settings))
            if tls.reads(keys) and context is not None and not isinstance(context, str) and context is not tls.context:
                tls.install(tls.settings, context)

    async def _reload(self, tls: ListenerTls, settings: TlsSettings) -> None:
        try:
            context = await self.loader.load(tls.endpoint.name, settings)
        except (ConfigurationError, StoreUnavailable, OSError) as error:
            log.error("listener %s keeps its old certificates: %s", tls.endpoint, error)
            return
        if settings == tls.settings_in(self._effective()):
            tls.install(settings, context)


class StartCheck:
    """Checks broker config changes with the code that loads them at startup.

    The planner calls it and must not block. Stores that are not read yet are added to `missing`; `read_stores` reads
    them.
    """

    def __init__(self, security: ListenerSecurity) -> None:
        self.contexts: dict[tuple[str, TlsSettings], AlertingSslContext | str] = {}  # or the error
        self.missing: set[tuple[str, TlsSettings]] = set()
        self._security = security

    def __enter__(self) -> StartCheck:
        self._security.register(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._security.unregister(self)

    async def read_stores(self, plan: Callable[[], object]) -> None:
        """Read all stores that a plan needs. Raises StoreUnavailable at shutdown."""
        for _ in range(_PASSES):
            plan()
            if not self.missing:
                return
            missing, self.missing = self.missing, set()
            for listener, settings in sorted(missing, key=lambda each: each[0]):
                try:
                    self.contexts[listener, settings] = await self._security.loader.load(listener, settings)
                except ConfigurationError as error:
                    self.contexts[listener, settings] = str(error)

    def __call__(self, change: BrokerChange) -> None:
        """Refuse a change that would make the next start fail, unless the start already fails for the same reason."""
        try:
            _check_start_values(change)
        except ConfigurationError as error:
            raise InvalidRequest(str(error)) from None
        deletes = all(each.op == OpType.DELETE for each in change.alterations)
        for endpoint in self._security.endpoints:
            before: Mapping[str, str] | None = None
            for part, problem in start_problems(endpoint, change.after).items():
                before = start_problems(endpoint, change.before) if before is None else before
                if before.get(part) != problem and not (deletes and part in before):
                    raise InvalidRequest(problem)
        not_read: RequestTimedOut | None = None
        for tls in self._security.tls:
            try:
                self._check_tls(tls, change, deletes=deletes)
            except RequestTimedOut as error:
                not_read = error
        if not_read is not None:
            raise not_read

    def _check_tls(self, tls: ListenerTls, change: BrokerChange, *, deletes: bool) -> None:
        before, after = tls.settings_in(change.before), tls.settings_in(change.after)
        if before == after and not tls.reads([each.key for each in change.alterations]):
            return
        context = self._context(tls, after)
        if not isinstance(context, str):
            try:
                tls.check_identity(after, context)
            except ConfigurationError as error:
                raise InvalidRequest(str(error)) from None
        elif before == tls.settings or not deletes or not isinstance(self._context(tls, before), str):
            raise InvalidRequest(context)

    def _context(self, tls: ListenerTls, settings: TlsSettings) -> AlertingSslContext | str:
        name = (tls.endpoint.name, settings)
        if name not in self.contexts:
            self.missing.add(name)
            raise RequestTimedOut("the broker's configs were changed concurrently; try again")
        return self.contexts[name]


def start_problems(endpoint: EndPoint, effective: Mapping[str, str]) -> dict[str, str]:
    """Errors that would prevent a start with these listener settings, by part (`sasl`, `rules`)."""
    found: dict[str, str] = {}
    readers: dict[str, Callable[[EndPoint, Mapping[str, str]], object]] = {}
    if endpoint.protocol.sasl:
        readers["sasl"] = read_sasl_settings
    if endpoint.protocol.tls:
        readers["rules"] = read_principal_rules
    for part, read in readers.items():
        try:
            read(endpoint, effective)
        except ConfigurationError as error:
            found[part] = str(error)
    return found


def _check_start_values(change: BrokerChange) -> None:
    """Check values for any listener: other servers of the store load them at startup."""
    for each in change.alterations:
        key, text = each.key, change.overrides.get(each.key)
        if text is None or without_listener(key) != key:
            continue
        if key.endswith(f"plain.{JAAS}"):
            read_plain_users(text)
        elif key.endswith(REAUTH):
            read_number(REAUTH, text)
        elif key.endswith(RULES):
            parse_rules(text)
