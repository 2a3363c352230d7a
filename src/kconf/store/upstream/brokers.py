"""The brokers of a gateway's cluster: who they are, their static configs, the Kafka release whose keys they have."""

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
    """Reads them when it is made, and whenever it is told to. `static` are the static configs of the first broker."""

    def __init__(self, client: SyncAdminClient) -> None:
        self._client = client
        self._reads = 0
        self.members: ClusterMembers = NO_MEMBERS
        self.static: Overrides = {}
        self.elr_version: int | None = None
        self.cluster_id = self.read()
        self.release = self._read_release()

    def read(self, timeout: float | None = None) -> str:
        """The id of the cluster."""
        found = self._client.describe_cluster(timeout=timeout)
        if found.cluster_id is None:
            raise StoreUnavailable("the cluster did not report its ID")
        if not found.nodes:
            raise StoreUnavailable("the cluster has no brokers now")
        static = self._read_static(Resource.broker(min(found.nodes)), timeout)
        if static != self.static:  # the resolver stays while it is the same object
            self.static = static
        # Kafka does not tell when a broker was started: after each reading, its static configs are asked for again.
        self._reads += 1
        brokers = {
            each.id: ClusterMember(each.id, {}, each.rack, (each.host, each.port), self._reads)
            for each in found.nodes.values()
        }
        self.members = ClusterMembers({}, brokers)
        return found.cluster_id

    def _read_static(self, broker: Resource, timeout: float | None) -> Overrides:
        """Without them no config of a topic could be described: most of its values are those of the broker."""
        try:
            return static_overrides(self._client.describe_configs([broker], synonyms=True, timeout=timeout)[broker])
        except NotAuthorized as error:
            raise StoreUnavailable(
                f"the gateway's account must be allowed to describe the configs of the cluster: {error}"
            ) from None

    def _read_release(self) -> str:
        """The release whose keys the brokers have, as far as they tell. Reads the level of a feature."""
        found = self._client.describe_features()
        self.elr_version = found.finalized.get("eligible.leader.replicas.version")
        release = release_of(found.supported, found.apis)
        if not release.is_exact:
            log.warning("the release of the brokers is %s: their keys are taken for those of %s", *reversed(release))
        return release.catalog
