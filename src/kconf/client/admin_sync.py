"""The SyncAdminClient: every method waits for its answer. Same methods as the AdminClient in aio.py, without `async`.

Threads may share one: their calls take turns. A call that was interrupted (Ctrl-C) leaves nothing broken behind.
"""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kconf.client.base import BaseAdminClient, jitter, milliseconds
from kconf.client.transport.call_runner import Backoff, run_call
from kconf.client.transport.metadata import ClusterMetadata
from kconf.client.transport.selector_pool import SyncConnectionPool
from kconf.errors import KconfError, UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from kconf.client.calls.base import Call
    from kconf.client.calls.changes import ChangePage, DescribedAt
    from kconf.client.calls.configs import DescribeConfigsResult
    from kconf.client.journal.configs import Script
    from kconf.client.watch_sync import Watch
    from kconf.errors import Results
    from kconf.model.acl import AclBinding, AclFilter
    from kconf.model.alteration import AlterConfigOp, NewTopic
    from kconf.model.cluster import ClusterDescription, CreatedTopic, GroupListing, TopicDescription, TopicListing
    from kconf.model.journal import AuditEntry
    from kconf.model.quota import EffectiveQuota, QuotaDifference, QuotaEntity, QuotaFilter
    from kconf.model.resource import Resource, ResourceType
    from kconf.model.scram import CredentialInfo, UserScramCredentialDeletion, UserScramCredentialUpsertion

T = TypeVar("T")


class SyncAdminClient(BaseAdminClient):
    """Administers a Kafka or kconf cluster. Close it, or use it in a `with` block."""

    def _start(self) -> None:
        self._cluster = ClusterMetadata(self._settings)
        self._wires = SyncConnectionPool(self._settings)
        self._lock = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all lines; harmless when repeated. A later call would open new ones."""
        with self._lock:
            self._wires.close()

    def _send(self, call: Call[Any, Any, T], timeout: float | None = None) -> T:
        """Make a call; where there is a journal, with a record of what it changes."""
        if self._journal is not None:
            from kconf.client.journal.recorder import changes_something, recorded

            if changes_something(call):
                return self._play(recorded(call, self._journal, self._settings), timeout)
        return self._bring(call, timeout)

    def _play(self, script: Script[T], timeout: float | None) -> T:
        try:
            step = next(script)
            while True:
                try:
                    result = self._bring(step, timeout)
                except KconfError as error:
                    step = script.throw(error)
                else:
                    step = script.send(result)
        except StopIteration as done:
            found: T = done.value
            return found

    def _bring(self, call: Call[Any, Any, T], timeout: float | None) -> T:
        """Bring a call to its end: the one method that matters."""
        with self._lock:
            deadline = time.monotonic() + (self._settings.timeout if timeout is None else timeout)
            script = run_call(call, self._cluster, deadline, time.monotonic, jitter)
            try:
                step = next(script)
                while True:
                    if isinstance(step, Backoff):
                        time.sleep(step.seconds)
                        step = script.send(())
                    else:
                        step = script.send(self._wires.exchange(step.asks, deadline))
            except StopIteration as done:
                result: T = done.value
                return result

    # Configs

    def describe_configs(
        self,
        resources: Iterable[Resource],
        *,
        keys: Mapping[Resource, Sequence[str]] | None = None,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> DescribeConfigsResult:
        """The entries of each resource: all, or those of `keys`."""
        from kconf.client.calls.configs import DescribeConfigs

        call = DescribeConfigs(resources, keys=keys, synonyms=synonyms, documentation=documentation)
        return self._send(call, timeout)

    def alter_configs(
        self,
        configs: Mapping[Resource, Mapping[str, str]],
        *,
        validate_only: bool = False,
        incremental_update: bool = False,
        timeout: float | None = None,
    ) -> Results[Resource, None]:
        """Replace all values of each resource; with `incremental_update` (KIP-248) only what is mentioned."""
        from kconf.client.calls.configs import alter

        return self._send(alter(configs, validate_only, incremental_update), timeout)

    def incremental_alter_configs(
        self,
        alterations: Mapping[Resource, Sequence[AlterConfigOp]],
        *,
        validate_only: bool = False,
        expected: Mapping[Resource, int] | None = None,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[Resource, None]:
        """Set, delete, append, subtract. `expected` revisions and a `reason` are for kconf servers."""
        from kconf.client.calls.configs import IncrementalAlterConfigs

        call = IncrementalAlterConfigs(alterations, validate_only=validate_only, expected=expected, reason=reason)
        return self._send(call, timeout)

    def list_config_resources(
        self, types: Iterable[ResourceType] = (), *, timeout: float | None = None
    ) -> list[Resource]:
        """What can carry configuration, of all types or of some."""
        from kconf.client.calls.configs import ListConfigResources

        return self._send(ListConfigResources(types), timeout)

    # Topics and the cluster

    def create_topics(
        self, topics: Iterable[NewTopic | str], *, validate_only: bool = False, timeout: float | None = None
    ) -> Results[str, CreatedTopic]:
        """Make topics; each result has the topic as it was made (KIP-525)."""
        from kconf.client.calls.topics import CreateTopics

        call = CreateTopics(topics, timeout_ms=milliseconds(self._settings, timeout), validate_only=validate_only)
        return self._send(call, timeout)

    def delete_topics(self, topics: Iterable[str | UUID], *, timeout: float | None = None) -> Results[str | UUID, None]:
        """Delete topics, by name or by id."""
        from kconf.client.calls.topics import DeleteTopics

        return self._send(DeleteTopics(topics, timeout_ms=milliseconds(self._settings, timeout)), timeout)

    def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Grow topics to so many partitions; `assignments` has the brokers of each new one."""
        from kconf.client.calls.topics import CreatePartitions

        call = CreatePartitions(
            counts,
            timeout_ms=milliseconds(self._settings, timeout),
            assignments=assignments,
            validate_only=validate_only,
        )
        return self._send(call, timeout)

    def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> dict[str, TopicListing]:
        """All topics, by name."""
        from kconf.client.calls.topics import ListTopics

        return self._send(ListTopics(internal=internal), timeout)

    def describe_topics(
        self, topics: Iterable[str | UUID], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Results[str | UUID, TopicDescription]:
        """Partitions, leaders and replicas of topics, by name or by id."""
        from kconf.client.calls.topics import DescribeTopics

        call = DescribeTopics(topics, authorized_operations=authorized_operations)
        return self._send(call, timeout)

    def describe_cluster(
        self, *, authorized_operations: bool = False, fenced: bool = False, timeout: float | None = None
    ) -> ClusterDescription:
        """The nodes and the controller; `fenced` brokers too."""
        from kconf.client.calls.cluster import DescribeCluster

        call = DescribeCluster(
            authorized_operations=authorized_operations, fenced=fenced, controllers=self._settings.controllers
        )
        return self._send(call, timeout)

    def list_groups(self, *, timeout: float | None = None) -> list[GroupListing]:
        """The groups that any broker coordinates."""
        from kconf.client.calls.cluster import ListGroups

        return self._send(ListGroups(), timeout)

    # Quotas, credentials, ACLs

    def describe_client_quotas(
        self, wanted: QuotaFilter | None = None, *, timeout: float | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas as they are stored, of the entities that are wanted, or of all."""
        from kconf.client.calls.client_quotas import DescribeClientQuotas

        return self._send(DescribeClientQuotas(wanted), timeout)

    def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Results[QuotaEntity, None]:
        """Set quotas, or remove those whose value is None; others stay."""
        from kconf.client.calls.client_quotas import AlterClientQuotas

        return self._send(AlterClientQuotas(alterations, validate_only=validate_only), timeout)

    def describe_quotas(
        self, entities: Iterable[QuotaEntity], *, keys: Iterable[str] = (), timeout: float | None = None
    ) -> Results[QuotaEntity, dict[str, EffectiveQuota]]:
        """Quotas as they hold for a user, a client id or both (KIP-248), each with its level and what loses."""
        from kconf.client.calls.effective_quotas import DescribeQuotas

        call = DescribeQuotas(entities, keys)
        try:
            return self._send(call, timeout)
        except UnsupportedVersion:  # not a kconf server
            return self._send(call.on_kafka(), timeout)

    def alter_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[QuotaEntity, None]:
        """Set quotas of users and client ids, or remove those whose value is None. A `reason` is for kconf servers."""
        from kconf.client.calls.effective_quotas import AlterQuotas

        return self._send(AlterQuotas(alterations, validate_only=validate_only, reason=reason), timeout)

    def what_if(
        self,
        entity: QuotaEntity,
        changes: Mapping[str, float | None],
        *,
        pairs: Iterable[tuple[str, str]] | None = None,
        timeout: float | None = None,
    ) -> list[QuotaDifference]:
        """Who would get another quota if these were set, or removed where the value is None. Changes nothing.

        Out of these (user, client id) pairs, "" for neither; or of those whom a kconf server has seen lately; or, of a
        real Kafka, of those whom quotas name.
        """
        from kconf.client.calls.client_quotas import DescribeClientQuotas
        from kconf.client.calls.effective_quotas import WhatIf

        call = WhatIf(entity, changes)
        if pairs is None:
            try:
                return self._send(call, timeout)
            except UnsupportedVersion:  # not a kconf server
                pass
        stored = self._send(DescribeClientQuotas(None), timeout)
        return call.resolved(stored, pairs)

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Results[str, tuple[CredentialInfo, ...]]:
        """Who has which credential: the named users, or everyone who has one."""
        from kconf.client.calls.scram import describe

        return self._send(describe(users), timeout)

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Set and delete credentials; one result per user."""
        from kconf.client.calls.scram import AlterUserScramCredentials

        return self._send(AlterUserScramCredentials(alterations), timeout)

    def describe_acls(self, wanted: AclFilter | None = None, *, timeout: float | None = None) -> list[AclBinding]:
        """The ACLs that a filter matches, or all."""
        from kconf.client.calls.acls import DescribeAcls

        return self._send(DescribeAcls(wanted), timeout)

    def create_acls(self, bindings: Iterable[AclBinding], *, timeout: float | None = None) -> Results[AclBinding, None]:
        """Make ACLs; one that is there already is no error."""
        from kconf.client.calls.acls import CreateAcls

        return self._send(CreateAcls(bindings), timeout)

    def delete_acls(
        self, filters: Iterable[AclFilter], *, timeout: float | None = None
    ) -> Results[AclFilter, list[AclBinding]]:
        """Delete what the filters match; each result has what was deleted."""
        from kconf.client.calls.acls import DeleteAcls

        return self._send(DeleteAcls(filters), timeout)

    # The journal (kconf servers)

    def list_changes(
        self,
        after: int = 0,
        *,
        wait: float = 0.0,
        about: Iterable[Resource | ResourceType] = (),
        limit: int = 1000,
        timeout: float | None = None,
    ) -> ChangePage:
        """Revisions after this one, up to `limit` lines, of all or of some resources or types.

        Where there is none yet, the server waits up to `wait` seconds for one. Raises JournalTrimmed.
        """
        from kconf.client.calls.changes import ListChanges, longest_wait

        patience = longest_wait(self._settings, timeout, wait)
        return self._send(ListChanges(after, patience, about, limit), timeout)

    def watch_changes(self, after: int | None = None, *, about: Iterable[Resource | ResourceType] = ()) -> Watch:
        """Every revision after this one, or from now on, as it comes; over a line of its own."""
        from kconf.client.calls.changes import FeedPosition
        from kconf.client.watch_sync import Watch

        twin = self.__class__.__new__(self.__class__)
        twin._settings, twin._journal = self._settings, None
        twin._start()
        return Watch(twin, FeedPosition(after, about, self._settings))

    def describe_configs_at(
        self,
        resources: Iterable[Resource],
        *,
        revision: int | None = None,
        time: datetime | int | None = None,
        timeout: float | None = None,
    ) -> DescribedAt:
        """What resources set themselves at a revision, or at a time (milliseconds, where it is a number)."""
        from kconf.client.calls.changes import DescribeConfigsAt

        return self._send(DescribeConfigsAt(resources, revision, time), timeout)

    def list_attempts(self, after: int = 0, *, limit: int = 1000, timeout: float | None = None) -> list[AuditEntry]:
        """What was refused or only tried, with a greater number than this."""
        from kconf.client.calls.changes import ListAttempts

        return self._send(ListAttempts(after, limit), timeout)
