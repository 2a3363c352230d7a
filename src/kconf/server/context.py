"""What every handler is given: the service and this node, and who is calling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from kconf.engine.acls import Authorizer
from kconf.engine.alter import Node
from kconf.engine.topics import Cluster
from kconf.errors import ChangeTooLarge, ErrorCode, Failure, StoreError, StoreReadOnly
from kconf.model.acl import Authorise, allow_all
from kconf.model.journal import Caller
from kconf.server.attempts import Attempts
from kconf.server.brokers import Brokers
from kconf.server.certificates import Certificates
from kconf.server.feed import Feed, Patience
from kconf.server.loggers import Loggers
from kconf.server.policies import Policies
from kconf.server.quick import Quick
from kconf.server.quota_manager import QuotaManager
from kconf.server.rights import authorizer_of
from kconf.service import Service, State

UNAVAILABLE = Failure(ErrorCode.REQUEST_TIMED_OUT, "the store cannot be written now; try again later")
READ_ONLY = Failure(ErrorCode.POLICY_VIOLATION, "this server is read-only: it was started with --read-only")


def not_kept(error: StoreError) -> Failure:
    """What is told to who wanted a change: to try again later, or, where that does not help, why."""
    if isinstance(error, ChangeTooLarge):
        return Failure(ErrorCode.INVALID_REQUEST, str(error))
    return READ_ONLY if isinstance(error, StoreReadOnly) else UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Context:
    """This server: shared by all connections."""

    service: Service
    quick: Quick
    node_id: int
    cluster_id: str
    rack: str | None
    loggers: Loggers
    feed: Feed
    attempts: Attempts
    quotas: QuotaManager
    policies: Policies = field(default_factory=Policies)
    authorizer: Authorizer | None = None
    certificates: Certificates = field(default_factory=lambda: Certificates(0))
    new_id: Callable[[], UUID] = uuid4
    brokers: Brokers = field(default_factory=Brokers)

    @classmethod
    def over(cls, service: Service, clock: Callable[[], float], policies: Policies | None = None) -> Context:
        """All that a server keeps beside its service, following it."""
        return cls(
            service,
            Quick(service),  # the first to hear of a commit
            service.node_id,
            service.store.cluster_id,
            service.state.ladder.value("broker.rack"),
            Loggers(),
            Feed(service),
            Attempts(service, clock),
            QuotaManager.over(service, clock),
            policies or Policies(),
            authorizer_of(service),
            Certificates(service.node_id),
            brokers=Brokers(service),
        )

    def node(self, state: State) -> Node:
        return Node(self.node_id, state.ladder, self.certificates.check, self.brokers.ladders(state))

    def cluster(self, state: State) -> Cluster:
        return Cluster(self.ids, state.ladder, self.new_id)

    @property
    def ids(self) -> tuple[int, ...]:
        """The broker ids of the cluster."""
        return self.service.store.members.ids or (self.node_id,)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its version, who sent it, and the address by which they reached us."""

    version: int
    caller: Caller
    host: str
    port: int
    authorise: Authorise = allow_all
    patience: Patience | None = None
    listener: str = "PLAINTEXT"

    def because(self, reason: str) -> Call:
        """The same call, with a reason for the journal."""
        return replace(self, caller=replace(self.caller, reason=reason))
