"""The server process: opens the store, listens, and shuts down without losing a response."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from logging import getLogger
from typing import TYPE_CHECKING, NamedTuple

from kconf.configdef.catalog import Catalog, kafka_43, with_keys
from kconf.configdef.dynamic import is_broker_secret
from kconf.configdef.server_settings import (
    DELEGATION_TOKENS,
    POLL_INTERVAL,
    RELAY_TIMEOUT,
    SCRAM_FILE,
    SCRAM_LOGINS,
    flag_setting,
    int_setting,
    text_setting,
)
from kconf.engine.configs.alter import MIN_INSYNC
from kconf.errors import ConfigurationError, KconfError
from kconf.model.journal import Change, ChangeKind
from kconf.model.membership import ClusterMember
from kconf.model.resource import Resource
from kconf.security.value_cipher import Secrets
from kconf.server.api.request_pipeline import RequestPipeline
from kconf.server.auth.acl_file import AclFile
from kconf.server.auth.authenticator import Authenticator
from kconf.server.auth.authorizer import check_authorizer, check_known_acls
from kconf.server.context import ServerContext
from kconf.server.features import choose_features, enforce_min_insync
from kconf.server.journal.archiver import Archiver, ArchiveSettings
from kconf.server.journal.change_log import ChangeLog
from kconf.server.journal.retention import Retention, housekeep, trim
from kconf.server.listener_config import EndPoint, SecurityProtocol, SocketAddress, with_listeners
from kconf.server.network.connection_registry import ConnectionRegistry
from kconf.server.network.listener import Listener, bind, bound_address
from kconf.server.policy.loader import load_policies
from kconf.server.request_handler import RequestHandler
from kconf.server.static_config import check_static, has_rights
from kconf.service import Service
from kconf.store.base import Store
from kconf.store.registry import open_store
from kconf.util.memory import collect_fully
from kconf.util.threads.worker_thread import in_daemon_thread

if TYPE_CHECKING:
    from kconf.client.settings import ClientSettings
    from kconf.server.auth.scram_file import ScramFile
    from kconf.server.auth.upstream_credentials import UpstreamCredentials
    from kconf.server.network.broker_listeners import BrokerListeners
    from kconf.server.upstream.authorizer_check import AuthorizerCheck
    from kconf.server.upstream.client import UpstreamClient
    from kconf.server.upstream.rights_watch import RightsWatch
    from kconf.store.upstream.identities import Identities

log = getLogger(__name__)


class UpstreamSettings(NamedTuple):
    """How a gateway reaches the cluster behind it."""

    brokers: ClientSettings
    controllers: ClientSettings | None  # None: the brokers are polled

    def with_check(self, check: AuthorizerCheck) -> UpstreamSettings:
        controllers = self.controllers
        return UpstreamSettings(
            self.brokers._replace(check=check), None if controllers is None else controllers._replace(check=check)
        )


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of `kconf serve`; `static` has the settings of the file and of --override."""

    store: str
    host: str = "127.0.0.1"
    port: int = 9092
    node_id: int = 1
    static: Mapping[str, str] = field(default_factory=dict, repr=False)
    listeners: Sequence[EndPoint] = ()  # default: PLAINTEXT on `host` and `port`
    features: Mapping[str, int] = field(default_factory=dict)  # for a new store
    read_only: bool = False
    recover: bool = False  # ignore the dynamic broker configs of the store
    upstream: UpstreamSettings | None = None  # gateways: the cluster behind it

    @property
    def endpoints(self) -> Sequence[EndPoint]:
        plain = EndPoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, SocketAddress(self.host, self.port))
        return self.listeners or (plain,)


class _BrokersCatalog:
    """The catalog of real brokers: those behind a gateway, or Kafka 3.9 for those on the same ZooKeeper ensemble.

    The same object as long as the keys do not change.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: tuple[str, object, Catalog] | None = None

    def __call__(self) -> Catalog:
        from kconf.configdef.releases.catalogs import catalog_of

        release, others = self._store.brokers_release or "3.9", self._store.brokers_keys
        if self._made is None or self._made[0] != release or self._made[1] is not others:
            base = catalog_of(release)
            self._made = release, others, with_keys(base, others) if others else base
        return self._made[2]


async def _open_store(
    options: ServerOptions, credentials: UpstreamCredentials | None, identities: Identities | None
) -> Store:
    """Open the store in a thread, so that the process can be stopped while ZooKeeper does not respond."""
    if (upstream := options.upstream) is not None:
        from kconf.store.upstream.open import open_upstream

        interval = int_setting(options.static, POLL_INTERVAL) / 1000
        return await in_daemon_thread(
            lambda: open_upstream(
                options.store, upstream.brokers, upstream.controllers, interval, credentials, identities
            )
        )
    secrets = Secrets.of(options.static)
    return await in_daemon_thread(lambda: open_store(options.store, secrets, read_only=options.read_only))


def _credentials(options: ServerOptions) -> UpstreamCredentials | None:
    """The SCRAM credentials of the cluster's users, if they log in to the gateway with SCRAM."""
    if options.upstream is None or not flag_setting(options.static, SCRAM_LOGINS):
        return None
    from kconf.server.auth.upstream_credentials import UpstreamCredentials

    return UpstreamCredentials()


def _scram_file(options: ServerOptions) -> ScramFile | None:
    """The SCRAM credentials of a gateway's own users, in a file."""
    if not text_setting(options.static, SCRAM_FILE):
        return None
    from kconf.server.auth.scram_file import ScramFile

    return ScramFile.of(options.static, is_gateway=options.upstream is not None)


def _identities(options: ServerOptions) -> Identities | None:
    """The identities with which a gateway acts as its users, or None if it uses its own principal for all."""
    if options.upstream is None or not flag_setting(options.static, DELEGATION_TOKENS):
        return None
    from kconf.store.upstream.identities import Identities

    return Identities(options.upstream.brokers)


def _authorizer_check(options: ServerOptions) -> AuthorizerCheck | None:
    """The check of each connection of a gateway that has no settings for an authorizer."""
    if options.upstream is None or has_rights(options.static):
        return None
    from kconf.server.upstream.authorizer_check import AuthorizerCheck

    return AuthorizerCheck()


class Server:
    """Owns the service, the listeners and the connections. Used with `async with`.

    `failure` is done if the server must be stopped, with the reason as its exception.
    """

    context: ServerContext
    failure: asyncio.Future[None]
    registry: ConnectionRegistry
    port: int

    def __init__(self, options: ServerOptions) -> None:
        check_authorizer(options.static)
        check_static(options.static)
        self._policies = load_policies(options.static, kafka_43())
        self._acl_file = AclFile.of(options.static, is_gateway=options.upstream is not None)
        self._scram_file = _scram_file(options)
        self._retention = Retention.of(options.static, options.store)
        self._archive_settings = ArchiveSettings.of(options.static)
        self.archiver: Archiver | None = None
        self._authorizer_check = check = _authorizer_check(options)
        if check is not None and options.upstream is not None:
            options = replace(options, upstream=options.upstream.with_check(check))
        self.options = options
        self._credentials = _credentials(options)
        self.listeners: list[Listener] = []
        self._sockets: dict[EndPoint, list[socket.socket]] = {}
        self._broker_listeners: BrokerListeners | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    async def __aenter__(self) -> Server:
        options = self.options
        self.failure = asyncio.get_running_loop().create_future()
        identities = _identities(options)
        store = await _open_store(options, self._credentials, identities)
        try:
            rights = self._rights(store)
            if rights is not None:
                rights.check()
            check_known_acls(options.static, store.unknown)
            choose_features(store, options.features, read_only=options.read_only)
            static = await self._bind()
            if rights is not None:
                rights.enforce()
        except BaseException:
            self._close_listeners()
            store.close()
            raise
        upstream = None if options.upstream is None else self._upstream(options.upstream, store, identities)
        service = Service(
            store,
            node_id=options.node_id if upstream is None else store.members.ids[0],
            catalog=kafka_43(),
            static=static,
            broker_catalog=_BrokersCatalog(store),
            read_only=options.read_only,
            ignore_broker_configs=options.recover,
        )
        try:
            await service.start()
            await enforce_min_insync(service)
            await self._open(service, upstream)
        except BaseException:
            self._close_listeners()
            await service.stop()
            raise
        self.port = self.listeners[0].port
        service.subscribe(self.context.security.on_commit)
        service.subscribe(ChangeLog().on_commit)
        self._start(self.registry.close_idle(), "idle connections")
        if self.archiver is not None:
            self.archiver.start()
        self._start(housekeep(service), "housekeeping")
        if upstream is not None:
            self._start(upstream.brokers.follow(), "versions of the brokers")
            assert rights is not None
            self._start(rights.follow(), "authorizer of the brokers")
        if self._acl_file is not None:
            self._start(self._acl_file.follow(), "ACLs of the gateway")
        if self._scram_file is not None:
            self._start(self._scram_file.follow(), "SCRAM credentials of the gateway")
        if self._broker_listeners is not None:
            self._start(self._broker_listeners.follow(), "listeners of the brokers")
        self._start(collect_fully(lambda: not self.context.scheduler.admitted_bytes), "garbage collection")
        if self._retention is not None:
            self._start(trim(self._retention, service, self.archiver), "journal retention")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop accepting, answer the requests that have been read, and close the store."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        self._close_listeners()
        self.context.feed.stop_waiting()
        await self.context.security.close()
        await self.registry.shutdown()
        await self.context.feed.close()
        await self.context.audit_log.close()
        if self.archiver is not None:
            await self.archiver.close()
        await self.context.service.stop()
        if self.context.upstream is not None:
            self.context.upstream.close()
        await self._policies.close()
        if self._acl_file is not None:
            self._acl_file.close()
        if self._scram_file is not None:
            self._scram_file.close()

    @property
    def ignored(self) -> list[Change]:
        """The stored dynamic broker configs that are ignored because of `recover`."""
        if not self.options.recover:
            return []
        snapshot = self.context.service.state.snapshot
        return [
            Change(ChangeKind.CONFIG, resource, key, value, value, "set", sensitive=is_broker_secret(key))
            for resource in (Resource.brokers(), Resource.broker(self.options.node_id))
            for key, value in sorted(snapshot.overrides(resource).items())
        ]

    def flush_archive(self) -> None:
        """SIGUSR1: archive now."""
        if self.archiver is not None and not self._stopping:
            self.archiver.flush_soon()

    async def _bind(self) -> Mapping[str, str]:
        """Bind the listeners. Returns the static configuration with their addresses."""
        for endpoint in self.options.endpoints:
            self._sockets[endpoint] = await bind(endpoint)
        bound = {each: bound_address(each, sockets) for each, sockets in self._sockets.items()}
        return with_listeners(self.options.static, bound)

    async def _open(self, service: Service, upstream: UpstreamClient | None) -> None:
        now = asyncio.get_running_loop().time
        own_acls = None if self._acl_file is None else self._acl_file.index
        context = self.context = ServerContext.over(service, now, self._policies, upstream, own_acls)
        self.registry = ConnectionRegistry(service, context.quotas, context.counters, now)
        handler = RequestPipeline(context)
        if upstream is not None:
            await upstream.brokers.refresh()
        if self._archive_settings is not None:
            self.archiver = Archiver(self._archive_settings, service, context.audit_log)
        for endpoint in self.options.endpoints:
            with self._recovery_explained(service):
                listener = self._listener(endpoint, handler)
            self.listeners.append(listener)
            await listener.open()
        if upstream is not None:
            await self._open_broker_listeners(service)
        await service.in_store(lambda store: store.join(self._member()))

    def _rights(self, store: Store) -> RightsWatch | None:
        if store.brokers_static is None:
            return None
        from kconf.server.upstream.rights_watch import RightsWatch

        return RightsWatch(self.options.static, store, self._authorizer_check, self.failure)

    def _upstream(self, settings: UpstreamSettings, store: Store, identities: Identities | None) -> UpstreamClient:
        from kconf.server.upstream.brokers import BrokerPools
        from kconf.server.upstream.client import UpstreamClient
        from kconf.server.upstream.pool import PoolLimits
        from kconf.server.upstream.user_pools import UserPools

        limits = PoolLimits(request=int_setting(self.options.static, RELAY_TIMEOUT) / 1000)
        users = None if identities is None else UserPools(identities, limits, store.cluster_id)
        check = self._authorizer_check
        brokers = BrokerPools(settings.brokers, store.cluster_id, lambda: store.members, limits, users, check)
        return UpstreamClient(settings.brokers, brokers, identities)

    async def _open_broker_listeners(self, service: Service) -> None:
        """Open a port for each broker behind a gateway."""
        from kconf.server.network.broker_listeners import BrokerListeners

        listeners = BrokerListeners(self.options.static, lambda: service.store.members, self.context.addresses)
        self._broker_listeners = listeners
        await listeners.open(self.listeners)

    def _listener(self, endpoint: EndPoint, handler: RequestHandler) -> Listener:
        service = self.context.service
        tls = self.context.security.open(endpoint)
        users = self._credentials if self._scram_file is None else self._scram_file.credentials
        authenticator = Authenticator(endpoint, service, self.context.authorizer, self.registry.now, users)
        return Listener(endpoint, self._sockets[endpoint], authenticator, handler, self.registry, tls)

    @contextmanager
    def _recovery_explained(self, service: Service) -> Iterator[None]:
        """If dynamic configs may be the cause of an error, add to it how to start without them."""
        try:
            yield
        except ConfigurationError as error:
            resolver = service.state.resolver
            levels = (
                (Resource.broker(self.options.node_id), resolver.here),
                (Resource.brokers(), resolver.everywhere),
            )
            # What this server set itself for eligible leader replicas does not affect listeners.
            where = " and ".join(str(resource) for resource, level in levels if level.keys() - {MIN_INSYNC})
            if not where:
                raise
            raise ConfigurationError(
                f"{error}; the dynamic configs of {where} may be the cause: `kconf serve --recover` ignores and lists "
                "them, `kconf store unset` removes one"
            ) from None

    def _start(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._task_ended)
        self._tasks.append(task)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """Stop the server if a background task has failed: without it, a check would be missing silently."""
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        log.critical("the background task %r failed; the server stops", task.get_name(), exc_info=error)
        if not self.failure.done():
            why = f"the background task {task.get_name()!r} failed: {type(error).__name__}; see the log"
            self.failure.set_exception(KconfError(why))

    def _member(self) -> ClusterMember:
        """This server, as registered for other servers of the store."""
        endpoints = {each.endpoint.name: each.advertised for each in self.listeners}
        return ClusterMember(self.options.node_id, endpoints, self.context.rack)

    def _close_listeners(self) -> None:
        if self._broker_listeners is not None:
            self._broker_listeners.close()
        for listener in self.listeners:
            listener.close()
        for sockets in self._sockets.values():
            for each in sockets:
                each.close()
