"""The SyncAdminClient. Every method blocks. It has the same methods as the AdminClient in admin.py, without `async`.

Threads may share a client: their calls run one after the other. The client stays usable after an interrupt (Ctrl-C).
"""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar
from warnings import warn

from kconf.client.admin_kconf_sync import SyncKconfMethods
from kconf.client.retries import random_jitter
from kconf.client.transport.call_runner import run_call
from kconf.client.transport.metadata import ClusterMetadata
from kconf.client.transport.requests import Backoff
from kconf.client.transport.selector.pool import SyncConnectionPool
from kconf.errors import KconfError, RequestTimedOut, UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from kconf.client.calls.amounts import Amount
    from kconf.client.calls.base import Call
    from kconf.client.calls.configs import DescribedConfigs, Keys
    from kconf.client.journal.base import CallSequence
    from kconf.client.transport.revisions import ClientRevision
    from kconf.configdef.releases.detect import ClusterRelease
    from kconf.model.acl import AclBinding, AclFilter
    from kconf.model.alteration import AlterConfigOp, NewTopic
    from kconf.model.cluster import (
        ClusterDescription,
        CreatedTopic,
        FeatureDescription,
        GroupListing,
        TopicDescription,
        TopicListing,
    )
    from kconf.model.quota import EffectiveQuota, QuotaDifference, QuotaEntity, QuotaFilter
    from kconf.model.resource import Resource, ResourceType
    from kconf.model.results import Results
    from kconf.model.scram import CredentialInfo, UserScramCredentialDeletion, UserScramCredentialUpsertion

T = TypeVar("T")


class SyncAdminClient(SyncKconfMethods):
    """Administers a Kafka or kconf cluster. Close it, or use it in a `with` block."""

    def _create_pool(self) -> None:
        self._cluster = ClusterMetadata(self._settings)
        self._pool = SyncConnectionPool(self._settings)
        self._lock = RLock()

    @property
    def _revision(self) -> ClientRevision:
        return self._pool.revision

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Can be called repeatedly; a later call opens new ones."""
        with self._lock:
            self._pool.close()

    def _send(self, call: Call[Any, Any, T], timeout: float | None = None) -> T:
        """Execute a call, and record its changes if there is a journal. One deadline applies to everything."""
        deadline = time.monotonic() + self._settings.timeouts.call_limit(timeout)
        if self._journal is not None:
            from kconf.client.journal.recorder import is_recorded, record_call

            if is_recorded(call):
                return self._run_all(record_call(call, self._journal, self._settings), deadline)
        return self._run(call, deadline)

    def _run_all(self, calls: CallSequence[T], deadline: float) -> T:
        try:
            call = next(calls)
            while True:
                try:
                    result = self._run(call, deadline)
                except KconfError as error:
                    call = calls.throw(error)
                else:
                    call = calls.send(result)
        except StopIteration as done:
            found: T = done.value
            return found

    def _run(self, call: Call[Any, Any, T], deadline: float) -> T:
        """Run a call with its retries. The deadline includes waiting for the calls of other threads."""
        if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            error = RequestTimedOut(f"{call.name} was not sent: other calls of this client took too long")
            error.sent = False
            raise error
        try:
            steps = run_call(call, self._cluster, deadline, time.monotonic, random_jitter)
            step = next(steps)
            while True:
                if isinstance(step, Backoff):
                    time.sleep(step.seconds)
                    step = steps.send(())
                else:
                    step = steps.send(self._pool.send_batch(step.requests, deadline))
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            self._lock.release()

    # Configs

    def describe_configs(
        self,
        resources: Iterable[Resource],
        *,
        keys: Keys | None = None,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> DescribedConfigs:
        """The config entries of each resource: all, or only `keys` (a list for all resources, or one per resource)."""
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
        """Deprecated (KIP-339): removes every key that is not given. Use incremental_alter_configs.

        With `incremental_update` (KIP-248), other keys are unchanged, and an empty value removes its key.
        """
        from kconf.client.calls.configs import ALTER_CONFIGS_IS_DEPRECATED, alter_configs_call

        warn(ALTER_CONFIGS_IS_DEPRECATED, DeprecationWarning, stacklevel=2)
        return self._send(alter_configs_call(configs, validate_only, incremental_update), timeout)

    def incremental_alter_configs(
        self,
        alterations: Mapping[Resource, Sequence[AlterConfigOp]],
        *,
        validate_only: bool = False,
        expected: Mapping[Resource, int] | None = None,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[Resource, None]:
        """Set, delete, append or subtract values. `expected` revisions and a `reason` are for kconf servers."""
        from kconf.client.calls.configs import IncrementalAlterConfigs

        call = IncrementalAlterConfigs(alterations, validate_only=validate_only, expected=expected, reason=reason)
        return self._send(call, timeout)

    def list_config_resources(
        self, types: Iterable[ResourceType] = (), *, timeout: float | None = None
    ) -> list[Resource]:
        """The resources that have configs, of all or some types."""
        from kconf.client.calls.configs import ListConfigResources

        return self._send(ListConfigResources(types), timeout)

    # Topics and the cluster

    def create_topics(
        self,
        topics: Iterable[NewTopic | str],
        *,
        validate_only: bool = False,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[str, CreatedTopic]:
        """Create topics. Each result contains the created topic (KIP-525). The journal records `reason`."""
        from kconf.client.calls.topics import CreateTopics

        call = CreateTopics(
            topics,
            timeout_ms=self._settings.timeouts.request_limit_ms(timeout),
            validate_only=validate_only,
            reason=reason,
        )
        return self._send(call, timeout)

    def delete_topics(
        self, topics: Iterable[str | UUID], *, reason: str | None = None, timeout: float | None = None
    ) -> Results[str | UUID, None]:
        """Delete topics, by name or by id. The journal records `reason`."""
        from kconf.client.calls.topics import DeleteTopics

        limit = self._settings.timeouts.request_limit_ms(timeout)
        return self._send(DeleteTopics(topics, timeout_ms=limit, reason=reason), timeout)

    def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Increase the number of partitions of topics. `assignments` has the brokers of each new partition.

        The journal records `reason`.
        """
        from kconf.client.calls.topics import CreatePartitions

        call = CreatePartitions(
            counts,
            timeout_ms=self._settings.timeouts.request_limit_ms(timeout),
            assignments=assignments,
            validate_only=validate_only,
            reason=reason,
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
        """The nodes and the controller, optionally with `fenced` brokers."""
        from kconf.client.calls.cluster import DescribeCluster

        call = DescribeCluster(
            authorized_operations=authorized_operations, fenced=fenced, controllers=self._settings.bootstrap.controllers
        )
        return self._send(call, timeout)

    def describe_features(self, *, timeout: float | None = None) -> FeatureDescription:
        """The features of the cluster, and the API versions of the node that responds."""
        from kconf.client.calls.cluster import DescribeFeatures

        return self._send(DescribeFeatures(), timeout)

    def cluster_release(self, *, timeout: float | None = None) -> ClusterRelease:
        """The Kafka release whose config keys the cluster has, derived from its API versions and features."""
        from kconf.configdef.releases.detect import common_release, release_of

        if not self._pool.nodes:
            self.describe_features(timeout=timeout)
        nodes = list(self._pool.nodes.values())
        return common_release([release_of(each.features, each.versions) for each in nodes])

    def list_groups(self, *, timeout: float | None = None) -> list[GroupListing]:
        """The groups of all brokers."""
        from kconf.client.calls.cluster import ListGroups

        return self._send(ListGroups(), timeout)

    # Quotas, credentials, ACLs

    def describe_client_quotas(
        self, wanted: QuotaFilter | None = None, *, timeout: float | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The stored quotas of all entities, or of those that match a filter."""
        from kconf.client.calls.client_quotas import DescribeClientQuotas

        return self._send(DescribeClientQuotas(wanted), timeout)

    def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, Amount]],
        *,
        validate_only: bool = False,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[QuotaEntity, None]:
        """Set quotas, or remove them if the value is None. Others are unchanged. The journal records `reason`."""
        from kconf.client.calls.client_quotas import AlterClientQuotas

        return self._send(AlterClientQuotas(alterations, validate_only=validate_only, reason=reason), timeout)

    def describe_quotas(
        self, entities: Iterable[QuotaEntity], *, keys: Iterable[str] = (), timeout: float | None = None
    ) -> Results[QuotaEntity, dict[str, EffectiveQuota]]:
        """The effective quotas of a user, a client id or both (KIP-248), with their levels and the quotas that they
        override.
        """
        from kconf.client.calls.effective_quotas import DescribeQuotas

        call = DescribeQuotas(entities, keys)
        try:
            return self._send(call, timeout)
        except UnsupportedVersion:  # not a kconf server
            return self._send(call.on_kafka(), timeout)

    def alter_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, Amount]],
        *,
        validate_only: bool = False,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[QuotaEntity, None]:
        """Set quotas of users and client ids, or remove them if the value is None. The journal records `reason`."""
        from kconf.client.calls.effective_quotas import AlterQuotas

        return self._send(AlterQuotas(alterations, validate_only=validate_only, reason=reason), timeout)

    def what_if(
        self,
        entity: QuotaEntity,
        changes: Mapping[str, Amount],
        *,
        pairs: Iterable[tuple[str, str]] | None = None,
        timeout: float | None = None,
    ) -> list[QuotaDifference]:
        """The clients that would get a different quota with these alterations. Changes nothing.

        `pairs` are the (user, client id) pairs to check, with "" for none. Without `pairs`, it checks the clients that
        a kconf server has seen recently, or with Kafka those that have quotas.
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
        """The SCRAM credentials of these users, or of all users."""
        from kconf.client.calls.scram import describe_scram_call

        return self._send(describe_scram_call(users), timeout)

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Set and delete SCRAM credentials, with one result per user. The journal records `reason`."""
        from kconf.client.calls.scram import AlterUserScramCredentials

        return self._send(AlterUserScramCredentials(alterations, reason=reason), timeout)

    def describe_acls(self, wanted: AclFilter | None = None, *, timeout: float | None = None) -> list[AclBinding]:
        """All ACLs, or those that match a filter."""
        from kconf.client.calls.acls import DescribeAcls

        return self._send(DescribeAcls(wanted), timeout)

    def create_acls(
        self, bindings: Iterable[AclBinding], *, reason: str | None = None, timeout: float | None = None
    ) -> Results[AclBinding, None]:
        """Create ACLs. An ACL that already exists is not an error. The journal records `reason`."""
        from kconf.client.calls.acls import CreateAcls

        return self._send(CreateAcls(bindings, reason=reason), timeout)

    def delete_acls(
        self, filters: Iterable[AclFilter], *, reason: str | None = None, timeout: float | None = None
    ) -> Results[AclFilter, list[AclBinding]]:
        """Delete the ACLs that match the filters.

        Each result lists the deleted ACLs. The journal records `reason`.
        """
        from kconf.client.calls.acls import DeleteAcls

        return self._send(DeleteAcls(filters, reason=reason), timeout)
