"""The users of these tests, and the login settings for each client library."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.process import KconfProcess
from tests.unit.client.certificates import Certificates

_MODULES = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{_MODULES}.plain.PlainLoginModule"
SCRAM_MODULE = f"{_MODULES}.scram.ScramLoginModule"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SASL_LISTENERS = ("SASL_PLAINTEXT", "SASL_SSL")
PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL", "TLS": "SSL"} | {each: each for each in SASL_LISTENERS}
"""SSL wants the client's certificate, TLS does not."""


class User(NamedTuple):
    name: str
    password: str


ALICE = User("alice", "alice-secret")
BOB = User("bob", "bob-secret")
ROOT = User("root", "root-secret")


class Secured(NamedTuple):
    server: KconfProcess
    certificates: Certificates

    def java(self, listener: str, mechanism: str = "", user: User = ALICE) -> dict[str, str]:
        """The properties of Java clients, which kconf's client also reads."""
        given = {"bootstrap.servers": self.server.address(listener), "security.protocol": PROTOCOLS[listener]}
        if PROTOCOLS[listener].endswith("SSL"):
            given |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.certificates.ca)}
        if listener == "SSL":
            given |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.certificates.store("client"))}
        if mechanism:
            module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
            given |= {
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": f'{module} required username="{user.name}" password="{user.password}";',
            }
        return given

    def librdkafka(self, listener: str, mechanism: str = "", user: User = ALICE) -> dict[str, str]:
        given = {"bootstrap.servers": self.server.address(listener), "security.protocol": PROTOCOLS[listener]}
        if PROTOCOLS[listener].endswith("SSL"):
            given |= {"ssl.ca.location": str(self.certificates.ca)}
        if listener == "SSL":
            given |= {
                "ssl.certificate.location": str(self.certificates.certificate("client")),
                "ssl.key.location": str(self.certificates.key("client")),
            }
        if mechanism:
            given |= {"sasl.mechanism": mechanism, "sasl.username": user.name, "sasl.password": user.password}
        return given

    def python(self, listener: str, mechanism: str = "", user: User = ALICE) -> dict[str, object]:
        """kafka-python's arguments."""
        given: dict[str, object] = {
            "bootstrap_servers": self.server.address(listener),
            "security_protocol": PROTOCOLS[listener],
        }
        if PROTOCOLS[listener].endswith("SSL"):
            given |= {"ssl_cafile": str(self.certificates.ca)}
        if listener == "SSL":
            given |= {
                "ssl_certfile": str(self.certificates.certificate("client")),
                "ssl_keyfile": str(self.certificates.key("client")),
            }
        if mechanism:
            given |= {
                "sasl_mechanism": mechanism,
                "sasl_plain_username": user.name,
                "sasl_plain_password": user.password,
            }
        return given


WAYS = [
    *((each, "") for each in ("PLAINTEXT", "SSL", "TLS")),
    *((listener, each) for listener in SASL_LISTENERS for each in MECHANISMS),
]
"""Every listener, with every mechanism where there are any."""
