"""What every handler gets: the context of the server and the context of the request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID, uuid4

from kconf.engine.access.acls import AclIndex, Authorizer
from kconf.engine.configs.alter import AlterTarget
from kconf.engine.topics.placement import ClusterDefaults
from kconf.errors import (
    ApiError,
    ChangeTooLarge,
    ErrorCode,
    OutcomeUnknown,
    StaleState,
    StoreDamaged,
    StoreError,
    StoreFailed,
    StoreLost,
    StoreReadOnly,
    TooManyChanges,
)
from kconf.model.acl import Authorize, allow_all
from kconf.model.journal import RequestContext
from kconf.server.auth.authorizer import alters_authentication, authorizer_of
from kconf.server.auth.listener_security import ListenerSecurity, StartCheck
from kconf.server.broker_proxy import BrokerProxy
from kconf.server.connection_context import ConnectionContext, LongPollTimer, Origin
from kconf.server.counters import Counters
from kconf.server.journal.audit_log import AuditLog
from kconf.server.journal.change_feed import ChangeFeed
from kconf.server.log_levels import LogLevels
from kconf.server.policy.manager import PolicyManager
from kconf.server.quotas.manager import QuotaManager
from kconf.server.static_config import allowed_files
from kconf.server.upstream.addresses import BrokerAddresses
from kconf.service import Service, State
from kconf.store.base import elr_version_of
from kconf.util.slice_scheduler import SliceScheduler

if TYPE_CHECKING:
    from kconf.server.upstream.client import UpstreamClient

UNAVAILABLE = ApiError(ErrorCode.REQUEST_TIMED_OUT, "the server cannot write to its store now; try again later")
UNREADABLE = ApiError(ErrorCode.REQUEST_TIMED_OUT, "the server cannot read its store now; try again later")
LOST = ApiError(
    ErrorCode.KAFKA_STORAGE_ERROR,
    "the server's store file was deleted, moved or replaced: nothing was changed, and no changes are possible until "
    "it is restored and the server restarted",
)
DAMAGED = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "the server's store is damaged; see the server's log")
READ_ONLY = ApiError(ErrorCode.POLICY_VIOLATION, "this server is read-only: it was started with --read-only")


def store_error(error: StoreError) -> ApiError:
    """The error for a change that the store could not commit. Retriable only if a retry can help."""
    if isinstance(error, ChangeTooLarge):
        return ApiError(ErrorCode.INVALID_REQUEST, str(error))
    if isinstance(error, TooManyChanges):
        return ApiError(ErrorCode.POLICY_VIOLATION, str(error))
    if isinstance(error, StoreFailed):
        return LOST if isinstance(error, StoreLost) else DAMAGED
    if isinstance(error, StaleState | OutcomeUnknown):
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, str(error))
    return READ_ONLY if isinstance(error, StoreReadOnly) else UNAVAILABLE


def journal_error(error: StoreError) -> ApiError:
    """The error for a request that reads the journal."""
    return DAMAGED if isinstance(error, StoreDamaged) else UNREADABLE


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The parts of this server that handlers use. Shared by all connections."""

    service: Service
    node_id: int
    cluster_id: str
    rack: str | None
    loggers: LogLevels
    feed: ChangeFeed
    audit_log: AuditLog
    quotas: QuotaManager
    policies: PolicyManager = field(default_factory=PolicyManager)
    authorizer: Authorizer | None = None
    security: ListenerSecurity = field(default_factory=lambda: ListenerSecurity(dict))
    new_id: Callable[[], UUID] = uuid4
    brokers: BrokerProxy = field(default_factory=BrokerProxy)
    counters: Counters = field(default_factory=Counters)
    scheduler: SliceScheduler = field(default_factory=SliceScheduler)
    upstream: UpstreamClient | None = None  # gateways only
    addresses: BrokerAddresses = field(default_factory=BrokerAddresses)
    has_own_acls: bool = False  # a gateway that does not use the ACLs of its cluster

    @classmethod
    def over(
        cls,
        service: Service,
        clock: Callable[[], float],
        policies: PolicyManager | None = None,
        upstream: UpstreamClient | None = None,
        own_acls: AclIndex | None = None,
    ) -> ServerContext:
        """Create the context of a server. Its parts subscribe to the commits of the service.

        `own_acls` are those of a gateway that does not use the ACLs of its cluster.
        """
        return cls(
            service,
            service.node_id,
            service.store.cluster_id,
            service.settings.value("broker.rack"),
            LogLevels(),
            ChangeFeed(service),
            AuditLog(service, clock),
            QuotaManager.over(service, clock),
            policies or PolicyManager(),
            authorizer_of(service, own_acls),
            ListenerSecurity(lambda: service.settings.effective, allowed_files(service.settings.static)),
            brokers=BrokerProxy(service, upstream),
            scheduler=SliceScheduler(is_busy=lambda: service.is_writing),
            upstream=upstream,
            has_own_acls=own_acls is not None,
        )

    def node(self, state: State, principal: str, check: StartCheck | None, named: int | None = None) -> AlterTarget:
        """The target of a change by this principal: this server, or on a gateway the broker `named`."""
        brokers = self.brokers.resolvers(state)
        if named is not None:
            brokers = {number: each for number, each in brokers.items() if number == named}
        return AlterTarget(
            self.broker_id if named is None else named,
            self.service.stored_resolver(state),
            check,
            brokers,
            alters_authentication=self.authorizer is None
            or alters_authentication(self.authorizer, principal, self.service.settings.static),
            has_elr=elr_version_of(self.service.store) > 0,
            rewrites=self.upstream is not None and self.service.store.polling is None,
            is_gateway=self.upstream is not None,
            first_revision=self.service.store.first_revision,
        )

    def cluster(self, state: State) -> ClusterDefaults:
        """What plans for topics depend on. As in Kafka, replicas may be on brokers that do not run."""
        brokers = sorted({*self.broker_ids, *self.service.store.members.fenced})
        return ClusterDefaults(brokers, state.resolver, self.new_id)

    @property
    def broker_id(self) -> int:
        """The broker that answers a request which names none: this server, or one behind a gateway."""
        described = self.service.store.described_broker
        return self.node_id if described is None else described

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return self.service.store.members.ids or (self.node_id,)


class ApiRequest(NamedTuple):
    """One request: its version, its caller, and the address to which the caller is connected.

    A named tuple for speed, since one is created per request.
    """

    version: int
    caller: RequestContext
    host: str
    port: int
    authorize: Authorize = allow_all
    long_poll: LongPollTimer | None = None
    listener: str = "PLAINTEXT"
    surplus: int = 0  # unread bytes after the body
    connection: ConnectionContext | None = None

    @property
    def node(self) -> int | None:
        """The broker that the client of a gateway addresses, if any."""
        return None if self.connection is None else self.connection.node

    @property
    def origin(self) -> Origin:
        """For whom a gateway asks brokers itself."""
        connection = self.connection
        if connection is None:
            return Origin(self.caller.principal)
        return Origin((connection.principal, connection.host), connection.wait_for_turn)

    def with_reason(self, reason: str) -> ApiRequest:
        """The same request, with a reason for the journal."""
        return self._replace(caller=replace(self.caller, reason=reason))
