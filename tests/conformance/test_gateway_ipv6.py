"""ACLs with IPv6 addresses, evaluated by a broker and by a gateway in front of it."""

from __future__ import annotations

from pathlib import Path

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Plain
from kconf.errors import ErrorCode
from kconf.model.acl import AclBinding, AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.resource import Resource
from lab.broker import KafkaBroker
from lab.server import free_ports
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import AUTHORIZER, gateway
from tests.conformance.test_gateway_own_acls import ALICE, LOGIN, overrides

RIGHTS = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
HOSTS = {"shortened": "::1", "as-java-writes-it": "0:0:0:0:0:0:0:1"}


class BrokerWithIPv6(KafkaBroker):
    """Has a listener on ::1 for users that log in."""

    def __init__(self) -> None:
        logins = {name.replace("sasl_plaintext", "v6"): value for name, value in LOGIN.items()}
        super().__init__(properties={**RIGHTS, **logins})
        (port,) = free_ports(1)
        self.v6 = f"[::1]:{port}"

    def _server_properties(self) -> dict[str, str]:
        found = super()._server_properties()
        for each in ("listeners", "advertised.listeners"):
            found[each] += f",V6://{self.v6}"
        found["listener.security.protocol.map"] += ",V6:SASL_PLAINTEXT"
        return found


def described(address: str, user: Plain) -> dict[str, ErrorCode | None]:
    """The error of each topic."""
    with SyncAdminClient(address, sasl=user) as admin:
        failures = admin.describe_configs(map(Resource.topic, HOSTS)).failures
    codes = {resource.name: ErrorCode(each.code) for resource, each in failures.items()}
    return {name: codes.get(name) for name in HOSTS}


def test_an_acl_for_an_address_applies_as_at_the_broker(tmp_path: Path) -> None:
    """A broker compares the text of the ACL with the address as Java writes it."""
    options = overrides({**RIGHTS, **LOGIN, "allow.everyone.if.no.acl.found": "false"})
    with BrokerWithIPv6() as kafka:
        with SyncAdminClient(kafka.bootstrap) as direct:
            direct.create_topics([NewTopic(name, 1, 1) for name in HOSTS]).raise_for_failures()
            direct.create_acls(
                [
                    AclBinding(AclType.TOPIC, name, "User:alice", Operation.DESCRIBE_CONFIGS, host=host)
                    for name, host in HOSTS.items()
                ]
            ).raise_for_failures()
        expected = {"shortened": ErrorCode.TOPIC_AUTHORIZATION_FAILED, "as-java-writes-it": None}
        until(lambda: described(kafka.v6, ALICE), expected)
        listen = ("--listen", "SASL_PLAINTEXT://[::1]:0")
        with gateway(kafka, tmp_path / "gw.db", *listen, *options, listen=False) as (address, _):
            assert described(address, ALICE) == expected
