"""Tests what a client can do on a cluster, without changing anything: yes, refused or unsupported, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import ApiError, ConfigurationError, ConnectionFailed, ErrorCode, KafkaError
from kconf.model.results import Results

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.cluster import ClusterDescription
    from kconf.operations.target import Target

_PROBE: Final = "kconf-probe"
_UNSUPPORTED: Final = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.SECURITY_DISABLED)
_NOT_FOUND: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.RESOURCE_NOT_FOUND)
"""Errors for a resource that does not exist: they show that the server would describe an existing one."""


class Capability(NamedTuple):
    """`result` is `yes`, `refused`, `unsupported` or `unreachable`; `failure` is the reason, `detail` the finding."""

    name: str
    result: str
    detail: str | None = None
    failure: ApiError | None = None


def probe_capabilities(admin: SyncAdminClient) -> Iterator[Capability]:
    cluster = admin.describe_cluster()
    nodes = f"{len(cluster.nodes)} broker{'' if len(cluster.nodes) == 1 else 's'}"
    probes = _probes(admin, cluster)
    yield Capability("connect", "yes", f"cluster {cluster.cluster_id}, {nodes}")
    for name, probe in probes.items():
        yield _capability(name, probe)


def probe_metadata_log(target: Target, cluster: str | None) -> Capability:
    """Whether the metadata log can be followed with the context's credential for the controllers."""
    name = "metadata log"
    try:
        with target.open_controllers() as controllers:
            log = controllers.follow(cluster=cluster)
            try:
                while log.follower.leader is None:
                    log.step()
                leader = log.follower.leader
            finally:
                log.close()
            user = controllers.settings.security.username
    except ConnectionFailed as error:
        return Capability(name, "unreachable", None, error.failure())
    except KafkaError as error:
        return Capability(name, "unsupported" if error.code in _UNSUPPORTED else "refused", None, error.failure())
    except ConfigurationError as error:
        return Capability(name, "refused", str(error))
    who = f"User:{user} has CLUSTER_ACTION on the cluster" if user else "CLUSTER_ACTION on the cluster is granted"
    return Capability(name, "yes", f"leader {leader}; {who}, or there is no authorizer")


def _probes(admin: SyncAdminClient, cluster: ClusterDescription) -> dict[str, Callable[[], object]]:
    from kconf.model.acl import AclFilter
    from kconf.model.alteration import AlterConfigOp, OpType
    from kconf.model.quota import USER, MatchType, QuotaComponent, QuotaFilter
    from kconf.model.resource import Resource

    topic = Resource.topic(next(iter(admin.list_topics(internal=True)), _PROBE))
    nothing = [AlterConfigOp(OpType.DELETE, _PROBE)]  # no such key: deleting it has no effect, even if it is executed
    return {
        "configs": lambda: admin.describe_configs([topic]),
        "brokers": lambda: admin.describe_configs([Resource.broker(each) for each in sorted(cluster.nodes)[:1]]),
        "quotas": lambda: admin.describe_client_quotas(
            QuotaFilter((QuotaComponent(USER, MatchType.EXACT, _PROBE),), strict=True)
        ),
        "scram": lambda: admin.describe_user_scram_credentials([_PROBE]),
        "acls": lambda: admin.describe_acls(AclFilter(principal=f"User:{_PROBE}")),
        "validate": lambda: admin.incremental_alter_configs({topic: nothing}, validate_only=True),
        "feed": lambda: admin.list_changes(limit=1),
    }


def _capability(name: str, probe: Callable[[], object]) -> Capability:
    try:
        found = probe()
        if isinstance(found, Results):
            for key in found:
                found[key]
    except ConnectionFailed:
        raise
    except KafkaError as error:
        if error.code in _NOT_FOUND:
            return Capability(name, "yes")
        return Capability(name, "unsupported" if error.code in _UNSUPPORTED else "refused", None, error.failure())
    return Capability(name, "yes")
