"""The brokers of a gateway's cluster: addresses, static configs, authorizer, and the release whose keys they have."""

from __future__ import annotations

from collections.abc import Mapping
from logging import getLogger
from typing import Final

from kconf.client.admin_sync import SyncAdminClient
from kconf.configdef.releases.detect import release_of
from kconf.errors import ApiError, ErrorCode, KafkaError, NotAuthorized, SecurityDisabled, StoreUnavailable
from kconf.model.acl import AclFilter, AclType
from kconf.model.entry import static_overrides
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.store.base import STANDARD_AUTHORIZERS, UNNAMED_AUTHORIZER
from kconf.store.upstream.polling.reading import is_away

log = getLogger(__name__)

_AUTHORIZER: Final = "authorizer.class.name"
_NO_ACL: Final = AclFilter(AclType.TOPIC, "kconf-probe")  # whether there are any is not asked


class UpstreamBrokers:
    """Reads the brokers when created and on `read`. `static` has the static configs of the first broker."""

    def __init__(self, client: SyncAdminClient) -> None:
        self._client = client
        self._reads = 0
        self.members: ClusterMembers = NO_MEMBERS
        self.static: Overrides = {}
        self.elr_version: int | None = None
        self.authorizer: str | None = None
        self._acl_failure: ApiError | None = None
        self.cluster_id = self.read()
        self.release = self._read_release()

    def read(self, timeout: float | None = None) -> str:
        """Read the brokers. Returns the cluster id."""
        found = self._client.describe_cluster(timeout=timeout)
        if found.cluster_id is None:
            raise StoreUnavailable("the cluster did not report its ID")
        if not found.nodes:
            raise StoreUnavailable("the cluster has no brokers at the moment")
        static = self._read_static(Resource.broker(min(found.nodes)), timeout)
        if static != self.static:  # the resolver is reused as long as this is the same object
            self.static = static
        self._read_authorizer(timeout)
        # Kafka does not report when a broker started, so its static configs are read again each time.
        self._reads += 1
        brokers = {
            each.id: ClusterMember(each.id, {}, each.rack, (each.host, each.port), self._reads)
            for each in found.nodes.values()
        }
        self.members = ClusterMembers({}, brokers)
        return found.cluster_id

    def _read_static(self, broker: Resource, timeout: float | None) -> Overrides:
        """Read the static configs of a broker. They are required, since topics inherit most values from the broker."""
        try:
            return static_overrides(self._client.describe_configs([broker], synonyms=True, timeout=timeout)[broker])
        except NotAuthorized as error:
            raise StoreUnavailable(f"the gateway's principal needs DescribeConfigs on the cluster: {error}") from None

    def _read_authorizer(self, timeout: float | None) -> None:
        """Only brokers without an authorizer say that they have none; managed ones may hide their configs."""
        try:
            self._client.describe_acls(_NO_ACL, timeout=timeout)
        except SecurityDisabled as error:
            self.authorizer, self._acl_failure = None, error.failure()
            return
        except KafkaError as error:
            if is_away(error):
                raise
            log.debug("the cluster does not show ACLs: %s", error)  # an authorizer that cannot list them fails
        self.authorizer = self.static.get(_AUTHORIZER, "").strip() or UNNAMED_AUTHORIZER
        self._acl_failure = None
        if self.authorizer != UNNAMED_AUTHORIZER and self.authorizer not in STANDARD_AUTHORIZERS:
            self._acl_failure = ApiError(
                ErrorCode.INVALID_REQUEST,
                f"the cluster's authorizer {self.authorizer} has its ACLs outside of the metadata log: manage them at"
                " the cluster itself",
            )

    @property
    def not_in_log(self) -> Mapping[ResourceType, ApiError]:
        """What the metadata log does not show, whatever is in it."""
        return {} if self._acl_failure is None else {ResourceType.ACL: self._acl_failure}

    def _read_release(self) -> str:
        """The Kafka release whose config keys the brokers have, derived from a feature level."""
        found = self._client.describe_features()
        self.elr_version = found.finalized.get("eligible.leader.replicas.version")
        release = release_of(found.supported, found.apis)
        if not release.is_exact:
            log.warning("the release of the brokers is %s; using the config keys of %s", *reversed(release))
        return release.catalog
