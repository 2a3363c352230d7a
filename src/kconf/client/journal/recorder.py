"""Records what a client changes on a cluster without a journal: the previous state, the request, and the outcome.

The previous state is read from the cluster and recorded before the call is executed, so that a crash in between leaves
a record. kconf servers have their own journal, so nothing is recorded for them. Dry runs are not recorded.

For a KRaft cluster, the journal also contains the range of metadata log offsets in which the change must be: the end of
the log before the request and after the response, if the client is authorized to read it. With this range, a follower
can determine exactly which change in the log was made by the client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kconf.client.calls.acls import CreateAcls, DeleteAcls
from kconf.client.calls.base import Call, NodeVersions
from kconf.client.calls.client_quotas import AlterClientQuotas
from kconf.client.calls.cluster import DescribeCluster
from kconf.client.calls.configs import AlterConfigs, IncrementalAlterConfigs
from kconf.client.calls.effective_quotas import AlterQuotas
from kconf.client.calls.quorum import DescribeLogEnd
from kconf.client.calls.scram import AlterUserScramCredentials
from kconf.client.calls.topics import CreatePartitions, CreateTopics, DeleteTopics
from kconf.client.journal.base import CallRecorder, CallSequence, Journal, RefusedChange
from kconf.client.journal.record_access import (
    AlterQuotasRecorder,
    AlterScramCredentialsRecorder,
    CreateAclsRecorder,
    DeleteAclsRecorder,
)
from kconf.client.journal.record_configs import AlterConfigsRecorder, IncrementalAlterConfigsRecorder
from kconf.client.journal.record_topics import CreatePartitionsRecorder, CreateTopicsRecorder, DeleteTopicsRecorder
from kconf.client.settings import ClientSettings
from kconf.errors import ApiError, ConnectionFailed, ErrorCode, KafkaError, KconfError, RequestTimedOut
from kconf.model.cluster import ClusterDescription
from kconf.model.journal import Change, RequestContext
from kconf.model.results import Results

T = TypeVar("T")

_UNCERTAIN = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT)


class IdentifyCluster(DescribeCluster):
    """Reads the cluster id, and whether the cluster has its own journal."""

    is_kconf = False

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        self.is_kconf = node.is_kconf
        return super().write(node, version, items)


def is_recorded(call: Call[Any, Any, Any]) -> bool:
    return type(call) in _RECORDERS and not getattr(call, "validate_only", False)


def record_call(call: Call[Any, Any, T], journal: Journal, settings: ClientSettings) -> CallSequence[T]:
    """Execute a call that changes something, and record it."""
    identify = IdentifyCluster(authorized_operations=False, fenced=False, controllers=settings.bootstrap.controllers)
    cluster: ClusterDescription = yield identify
    if identify.is_kconf:
        return (yield call)  # type: ignore[no-any-return]  # the generator is sent the result of its call
    recorder = _RECORDERS[type(call)](call)
    pending = yield from recorder.before()
    if not pending:
        return (yield call)  # type: ignore[no-any-return]
    changes = [each.change for each in pending]
    log_begin = yield from _log_end()
    entry = journal.begin(cluster.cluster_id or "", _own_caller(call, journal, settings), changes, log_begin)
    try:
        result = yield call
    except KconfError as error:
        _record_error(error, journal, entry, changes)
        raise
    entry = journal.answered(entry)
    log_end = None if log_begin is None else (yield from _log_end())
    failures: Mapping[Any, ApiError] = result.failures if isinstance(result, Results) else {}
    done = [each for each in pending if each.item not in failures]
    refused = [RefusedChange(each.change, failures[each.item]) for each in pending if each.item in failures]
    unknown = [each.change for each in refused if each.failure.code in _UNCERTAIN]
    try:
        made = yield from recorder.after(done, result)
    except KconfError:
        made = [each.change for each in done]  # the call succeeded, even if its details cannot be read
    certain = [each for each in refused if each.failure.code not in _UNCERTAIN]
    journal.end(entry, made, certain, unknown, log_end)
    return result  # type: ignore[no-any-return]


def _log_end() -> CallSequence[int | None]:
    """The end of the metadata log, or None if there is none or it cannot be read."""
    try:
        return (yield DescribeLogEnd())  # type: ignore[no-any-return]
    except KconfError:
        return None


def _record_error(error: KconfError, journal: Journal, entry: Any, changes: Sequence[Change]) -> None:
    """Record a call that failed as a whole: it was refused, or its outcome is unknown."""
    is_unknown = isinstance(error, RequestTimedOut | ConnectionFailed) and error.sent
    if is_unknown or not isinstance(error, KafkaError):
        journal.end(entry, [], [], changes)
    else:
        journal.end(entry, [], [RefusedChange(each, error.failure()) for each in changes], [])


def _own_caller(call: Call[Any, Any, Any], journal: Journal, settings: ClientSettings) -> RequestContext:
    from socket import gethostname

    user = settings.security.username
    principal = f"User:{user}" if user else "User:ANONYMOUS" if settings.security.is_anonymous else ""
    reason = getattr(call, "reason", None) or journal.reason
    return RequestContext(principal, settings.client_id, gethostname(), call.name, 0, reason)


_RECORDERS: Mapping[type[Call[Any, Any, Any]], Callable[[Any], CallRecorder]] = {
    AlterConfigs: AlterConfigsRecorder,
    IncrementalAlterConfigs: IncrementalAlterConfigsRecorder,
    CreateTopics: CreateTopicsRecorder,
    DeleteTopics: DeleteTopicsRecorder,
    CreatePartitions: CreatePartitionsRecorder,
    AlterClientQuotas: AlterQuotasRecorder,
    AlterQuotas: AlterQuotasRecorder,
    AlterUserScramCredentials: AlterScramCredentialsRecorder,
    CreateAcls: CreateAclsRecorder,
    DeleteAcls: DeleteAclsRecorder,
}
