"""The brokers of a gateway's cluster: addresses, static configs, and the Kafka release whose config keys they have."""

from __future__ import annotations

from logging import getLogger

from kconf.client.admin_sync import SyncAdminClient
from kconf.configdef.releases.detect import release_of
from kconf.errors import NotAuthorized, StoreUnavailable
from kconf.model.entry import static_overrides
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.resource import Overrides, Resource

log = getLogger(__name__)


class UpstreamBrokers:
    """Reads the brokers when created and on `read`. `static` has the static configs of the first broker."""

    def __init__(self, client: SyncAdminClient) -> None:
        self._client = client
        self._reads = 0
        self.members: ClusterMembers = NO_MEMBERS
        self.static: Overrides = {}
        self.elr_version: int | None = None
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

    def _read_release(self) -> str:
        """The Kafka release whose config keys the brokers have, derived from a feature level."""
        found = self._client.describe_features()
        self.elr_version = found.finalized.get("eligible.leader.replicas.version")
        release = release_of(found.supported, found.apis)
        if not release.is_exact:
            log.warning("the release of the brokers is %s; using the config keys of %s", *reversed(release))
        return release.catalog
