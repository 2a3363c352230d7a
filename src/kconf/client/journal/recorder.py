"""A record of what a client changes on a cluster that keeps none: what was there, what was asked for, what came of it.

`recorded` is a generator, so that the AdminClient and the SyncAdminClient share it: it yields the calls that shall be
made and is sent their results. What a change would do is read from the cluster and written down before it is asked
for, so that a crash in between is seen in the record and not lost to it. A kconf server has a journal of its own, and
nothing is recorded of it here; dry runs are not recorded either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kconf.client.calls.acls import CreateAcls, DeleteAcls
from kconf.client.calls.base import Call, NodeVersions
from kconf.client.calls.client_quotas import AlterClientQuotas
from kconf.client.calls.cluster import DescribeCluster
from kconf.client.calls.configs import AlterConfigs, IncrementalAlterConfigs
from kconf.client.calls.effective_quotas import AlterQuotas
from kconf.client.calls.scram import AlterUserScramCredentials
from kconf.client.calls.topics import CreatePartitions, CreateTopics, DeleteTopics
from kconf.client.journal.access import AlteredCredentials, AlteredQuotas, CreatedAcls, DeletedAcls
from kconf.client.journal.configs import AlteredConfigs, Recorder, ReplacedConfigs, Script
from kconf.client.journal.topics import CreatedTopics, DeletedTopics, GrownTopics
from kconf.client.settings import ClientSettings
from kconf.errors import ApiError, ConnectionFailed, ErrorCode, KafkaError, KconfError, RequestTimedOut, Results
from kconf.model.cluster import ClusterDescription
from kconf.model.journal import Change, RequestContext

T = TypeVar("T")

_UNCERTAIN = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT)


class RecordingFailed(NamedTuple):
    """A change that was asked for and not made."""

    change: Change
    failure: ApiError


class Journal(Protocol):
    """Where a record is kept; client/journal/files.py keeps it in files."""

    @property
    def reason(self) -> str | None:
        """Why, where a call does not say it."""

    def begin(self, cluster: str, caller: RequestContext, changes: Sequence[Change]) -> Any:
        """Write down what is about to be asked for."""

    def end(
        self, entry: Any, done: Sequence[Change], refused: Sequence[RecordingFailed], unknown: Sequence[Change]
    ) -> None:
        """Write down what came of it."""


class IdentifyCluster(DescribeCluster):
    """Which cluster this is, and whether it keeps a journal itself."""

    is_kconf = False

    def write(self, peer: NodeVersions, version: int, items: Sequence[None]) -> object:
        self.is_kconf = peer.is_kconf
        return super().write(peer, version, items)


def changes_something(call: Call[Any, Any, Any]) -> bool:
    return type(call) in _RECORDERS and not getattr(call, "validate_only", False)


def recorded(call: Call[Any, Any, T], journal: Journal, settings: ClientSettings) -> Script[T]:
    """Make a call that changes something, and keep a record of it."""
    who = IdentifyCluster(authorized_operations=False, fenced=False, controllers=settings.controllers)
    there: ClusterDescription = yield who
    if who.is_kconf:
        return (yield call)  # type: ignore[no-any-return]  # a script is sent what its call gives
    recorder = _RECORDERS[type(call)](call)
    begun = yield from recorder.before()
    if not begun:
        return (yield call)  # type: ignore[no-any-return]
    changes = [each.change for each in begun]
    entry = journal.begin(there.cluster_id or "", _caller(call, journal, settings), changes)
    try:
        result = yield call
    except KconfError as error:
        _end_by(error, journal, entry, changes)
        raise
    failures: Mapping[Any, ApiError] = result.failures if isinstance(result, Results) else {}
    done = [each for each in begun if each.item not in failures]
    refused = [RecordingFailed(each.change, failures[each.item]) for each in begun if each.item in failures]
    unknown = [each.change for each in refused if each.failure.code in _UNCERTAIN]
    try:
        made = yield from recorder.after(done, result)
    except KafkaError:
        made = [each.change for each in done]  # it was done, whatever else is known of it
    journal.end(entry, made, [each for each in refused if each.failure.code not in _UNCERTAIN], unknown)
    return result  # type: ignore[no-any-return]


def _end_by(error: KconfError, journal: Journal, entry: Any, changes: Sequence[Change]) -> None:
    """A call that failed as a whole: refused, or lost on the way."""
    lost = isinstance(error, RequestTimedOut) or (isinstance(error, ConnectionFailed) and error.sent)
    if lost or not isinstance(error, KafkaError):
        journal.end(entry, [], [], changes)
    else:
        journal.end(entry, [], [RecordingFailed(each, error.failure()) for each in changes], [])


def _caller(call: Call[Any, Any, Any], journal: Journal, settings: ClientSettings) -> RequestContext:
    from socket import gethostname

    user = getattr(settings.sasl, "username", None)
    anonymous = settings.sasl is None and (settings.tls is None or settings.tls.certificate is None)
    principal = f"User:{user}" if user else "User:ANONYMOUS" if anonymous else ""
    reason = getattr(call, "reason", None) or journal.reason
    return RequestContext(principal, settings.client_id, gethostname(), call.name, 0, reason)


_RECORDERS: Mapping[type[Call[Any, Any, Any]], Callable[[Any], Recorder]] = {
    AlterConfigs: ReplacedConfigs,
    IncrementalAlterConfigs: AlteredConfigs,
    CreateTopics: CreatedTopics,
    DeleteTopics: DeletedTopics,
    CreatePartitions: GrownTopics,
    AlterClientQuotas: AlteredQuotas,
    AlterQuotas: AlteredQuotas,
    AlterUserScramCredentials: AlteredCredentials,
    CreateAcls: CreatedAcls,
    DeleteAcls: DeletedAcls,
}
