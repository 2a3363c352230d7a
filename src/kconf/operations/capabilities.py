"""What can be done on a cluster, tried harmlessly: yes, refused or unsupported, and why."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kconf.cli.common.target import on_each, targets
from kconf.cli.output.result import CommandResult, ResultColumn, sentence
from kconf.errors import ConnectionFailed, ErrorCode, KafkaError, Results

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.cluster import ClusterDescription

_NOBODY: Final = "kconf-probe"
_UNSUPPORTED: Final = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.SECURITY_DISABLED)
_NOT_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.RESOURCE_NOT_FOUND)
"""What is said of something that is not there by a server that would tell."""


def try_everything(options: argparse.Namespace, answer: CommandResult) -> None:
    answer.columns = [
        ResultColumn("context"),
        ResultColumn("capability"),
        ResultColumn("result"),
        ResultColumn("detail", "WHY"),
    ]

    def look(here: Target, admin: SyncAdminClient) -> None:
        for capability, (result, why) in _results(admin).items():
            answer.add(context=here.name, capability=capability, result=result, detail=why)

    on_each(targets(options), answer, look)


def _results(admin: SyncAdminClient) -> dict[str, tuple[str, str | None]]:
    cluster = admin.describe_cluster()
    nodes = f"{len(cluster.nodes)} broker{'' if len(cluster.nodes) == 1 else 's'}"
    attempts = _attempts(admin, cluster)
    connected = "yes", f"cluster {cluster.cluster_id}, {nodes}"
    return {"connect": connected, **{name: _outcome(attempt) for name, attempt in attempts.items()}}


def _attempts(admin: SyncAdminClient, cluster: ClusterDescription) -> dict[str, Callable[[], object]]:
    from kconf.model.acl import AclFilter
    from kconf.model.alteration import AlterConfigOp, OpType
    from kconf.model.quota import USER, MatchType, QuotaComponent, QuotaFilter
    from kconf.model.resource import Resource

    topic = Resource.topic(next(iter(admin.list_topics(internal=True)), _NOBODY))
    nothing = [AlterConfigOp(OpType.DELETE, _NOBODY)]  # no key at all: to delete it does nothing, even if it is done
    return {
        "configs": lambda: admin.describe_configs([topic]),
        "brokers": lambda: admin.describe_configs([Resource.broker(each) for each in sorted(cluster.nodes)[:1]]),
        "quotas": lambda: admin.describe_client_quotas(
            QuotaFilter((QuotaComponent(USER, MatchType.EXACT, _NOBODY),), strict=True)
        ),
        "scram": lambda: admin.describe_user_scram_credentials([_NOBODY]),
        "acls": lambda: admin.describe_acls(AclFilter(principal=f"User:{_NOBODY}")),
        "validate": lambda: admin.incremental_alter_configs({topic: nothing}, validate_only=True),
        "feed": lambda: admin.list_changes(limit=1),
    }


def _outcome(attempt: Callable[[], object]) -> tuple[str, str | None]:
    try:
        found = attempt()
        if isinstance(found, Results):
            for key in found:
                found[key]
    except ConnectionFailed:
        raise
    except KafkaError as error:
        if error.code in _NOT_THERE:
            return "yes", None
        return "unsupported" if error.code in _UNSUPPORTED else "refused", sentence(error.failure())
    return "yes", None
