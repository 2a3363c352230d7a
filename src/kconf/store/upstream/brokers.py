"""The brokers of a gateway's cluster: addresses, static configs, authorizer, and the release whose keys they have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from logging import getLogger
from typing import Final, NoReturn

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.acls import NO_ACL, NO_ACL_TO_DELETE
from kconf.client.calls.cluster import DescribeFeatures
from kconf.configdef.learned import learn_keys
from kconf.configdef.releases.catalogs import catalog_of
from kconf.configdef.releases.detect import ClusterRelease, release_of
from kconf.errors import (
    ApiError,
    ErrorCode,
    KafkaError,
    NotAuthorized,
    SecurityDisabled,
    StoreUnavailable,
    UnsupportedVersion,
)
from kconf.model.cluster import ClusterDescription
from kconf.model.entry import static_overrides
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.resource import Overrides, Resource, ResourceType
from kconf.store.base import STANDARD_AUTHORIZERS, UNNAMED_AUTHORIZER
from kconf.store.upstream.other_keys import NO_OTHER_KEYS, OtherKeys, read_other_keys
from kconf.store.upstream.polling.reading import is_unreachable

log = getLogger(__name__)

_AUTHORIZER: Final = "authorizer.class.name"


def other_cluster(found: str | None, wanted: str) -> str:
    """The error for an address that leads to another cluster."""
    return f"the brokers belong to cluster {found}, not to {wanted}, which this gateway serves"


class UpstreamBrokers:
    """Reads the brokers when created and on `read`. `static` has the static configs of the `described` broker."""

    def __init__(self, client: SyncAdminClient) -> None:
        self._client = client
        self._probes_controller = client.settings.check is not None
        self._reads = 0
        self.members: ClusterMembers = NO_MEMBERS
        self.described = -1
        self.static: Overrides = {}
        self.elr_version: int | None = None
        self.authorizer: str | None = None
        self._acl_failure: ApiError | None = None
        self._is_authorized_by_controller: bool | None = None  # None: unknown
        self.keys: OtherKeys = NO_OTHER_KEYS
        self.cluster_id = ""
        self.problem: str | None = None
        """Set while the addresses lead to another cluster."""
        self._release: ClusterRelease | None = None
        self.cluster_id = self.read()

    def read(self, timeout: float | None = None) -> str:
        """Read the brokers. Returns the cluster id."""
        found = self._describe_cluster(timeout)
        if found.cluster_id is None:
            raise StoreUnavailable("the cluster did not report its ID")
        if self.cluster_id and found.cluster_id != self.cluster_id:
            self._found_problem(other_cluster(found.cluster_id, self.cluster_id))
        self.problem = None
        alive = {each.id: each for each in found.nodes.values() if not each.fenced}
        if not alive:
            raise StoreUnavailable("the cluster has no brokers at the moment")
        self._read_members(found)
        described = min(alive)
        self._read_release(described, timeout)
        static = self._read_static(Resource.broker(described), timeout)
        if static != self.static or described != self.described:
            # The resolver is reused as long as this is the same object.
            self.described, self.static = described, static
        self._read_authorizer(timeout)
        return found.cluster_id

    def _read_members(self, found: ClusterDescription) -> None:
        # Kafka does not report when a broker started, so its static configs are read again each time.
        self._reads += 1
        members = [
            (each.fenced, ClusterMember(each.id, {}, each.rack, (each.host, each.port), self._reads))
            for each in found.nodes.values()
        ]
        self.members = ClusterMembers(
            {},
            {each.id: each for is_fenced, each in members if not is_fenced},
            {each.id: each for is_fenced, each in members if is_fenced},
        )

    def _describe_cluster(self, timeout: float | None) -> ClusterDescription:
        try:
            return self._client.describe_cluster(fenced=True, timeout=timeout)
        except UnsupportedVersion:  # before Kafka 4.0
            return self._client.describe_cluster(timeout=timeout)

    def _found_problem(self, problem: str) -> NoReturn:
        if problem != self.problem:
            log.error("changes are refused: %s", problem)
        self.problem = problem
        raise StoreUnavailable(problem)

    def _read_static(self, broker: Resource, timeout: float | None) -> Overrides:
        """Read the static configs of a broker. They are required, since topics inherit most values from the broker."""
        try:
            return static_overrides(self._client.describe_configs([broker], synonyms=True, timeout=timeout)[broker])
        except NotAuthorized as error:
            raise StoreUnavailable(f"the gateway's principal needs DescribeConfigs on the cluster: {error}") from None

    def _read_authorizer(self, timeout: float | None) -> None:
        """Read the class of the authorizer, or None, and whether ACLs are in the metadata log."""
        try:
            self._client.describe_acls(NO_ACL, timeout=timeout)
        except SecurityDisabled as error:
            self._acl_failure = error.failure()
            has_one = self._probes_controller and self._probe_controller(timeout)
            self.authorizer = UNNAMED_AUTHORIZER if has_one else None
            return
        except KafkaError as error:
            if is_unreachable(error):
                raise
            log.debug("cannot list the cluster's ACLs: %s", error)  # an authorizer that cannot list ACLs fails
        self.authorizer = self.static.get(_AUTHORIZER, "").strip() or UNNAMED_AUTHORIZER
        self._acl_failure = None
        if self.authorizer != UNNAMED_AUTHORIZER and self.authorizer not in STANDARD_AUTHORIZERS:
            self._acl_failure = ApiError(
                ErrorCode.INVALID_REQUEST,
                f"the cluster's authorizer {self.authorizer} does not store its ACLs in the metadata log; manage"
                " them on the cluster itself",
            )

    @property
    def not_in_log(self) -> Mapping[ResourceType, ApiError]:
        """What cannot be read from the metadata log."""
        return {} if self._acl_failure is None else {ResourceType.ACL: self._acl_failure}

    def _probe_controller(self, timeout: float | None) -> bool:
        """Whether the active controller has an authorizer, although a broker has none.

        Only a gateway without settings for an authorizer needs to know: the controller would authorize its account.
        Controllers are separate nodes in many clusters, and authorize the changes that brokers forward to them. Uses
        DeleteAcls, because a broker forwards it, unlike DescribeAcls. The request matches no ACL. If the controller
        does not respond, the previous result is returned.
        """
        try:
            self._client.delete_acls([NO_ACL_TO_DELETE], timeout=timeout)[NO_ACL_TO_DELETE]
        except SecurityDisabled:
            self._is_authorized_by_controller = False
        except KafkaError as error:
            if not is_unreachable(error):
                self._is_authorized_by_controller = True
            elif self._is_authorized_by_controller is None:
                raise
        else:
            self._is_authorized_by_controller = True
        return bool(self._is_authorized_by_controller)

    def learn_keys(self, hidden: Collection[tuple[ResourceType, str]], timeout: float | None = None) -> bool:
        """Read keys that the catalog does not have. Returns whether they have changed. Raises KafkaError.

        `hidden` keys were read before their definition was known, so their values were not stored.
        """
        assert self._release is not None
        found = read_other_keys(
            self._client,
            Resource.broker(self.described),
            catalog_of(self.release),
            is_exact=self._release.is_exact,
            hidden=hidden,
            timeout=timeout,
        )
        if found == self.keys:
            return False
        for kind, keys in found.items():
            log.info("the brokers define keys of %s that kconf does not know: %s", kind.word, ", ".join(sorted(keys)))
        self.keys = found
        learn_keys(found)
        return True

    def _read_release(self, described: int, timeout: float | None) -> None:
        """Read the release and the feature level from the described broker. Both change with a rolling upgrade."""
        call = DescribeFeatures()
        call.node = described
        found = self._client._send(call, timeout)
        self.elr_version = found.finalized.get("eligible.leader.replicas.version")
        release = release_of(found.supported, found.apis)
        if release == self._release:
            return
        if self._release is not None:
            log.info("the release of broker %d is %s now", described, release.text)
        if not release.is_exact:
            log.warning("the release of the brokers is %s; using the config keys of %s", *reversed(release))
        self._release = release

    @property
    def release(self) -> str:
        """The release whose config keys the brokers have."""
        assert self._release is not None
        return self._release.catalog
