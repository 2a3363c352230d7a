"""Users of a real cluster log in to a gateway with SCRAM and their own passwords."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka.admin
import pytest
from kafka.admin import KafkaAdminClient

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Scram
from kconf.errors import AuthenticationFailed
from kconf.model.resource import Resource
from kconf.model.scram import Mechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.security.scram import credential, salted_password
from kconf.security.tls import Tls
from lab.broker import KafkaBroker
from lab.server import free_ports
from tests.cli.commands.scenarios import a_name, until
from tests.conformance.test_gateway import begin, gateway, setting, topic  # noqa: F401
from tests.unit.client.certificates import Certificates

FIRST, SECOND = "mahogany-Xylophone-1", "mahogany-Xylophone-2"
SALT = b"1qmhuw5r3o7iwmcs6ee7e0u5tn"
MECHANISMS = (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
OPT_IN = ("--override", "gateway.scram.logins=true")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def user(kafka_431: KafkaBroker) -> Iterator[str]:
    name = a_name("user")
    with SyncAdminClient(kafka_431.bootstrap) as direct:
        direct.alter_user_scram_credentials([upsertion(name, each, FIRST) for each in MECHANISMS]).raise_for_failures()
        yield name
        direct.alter_user_scram_credentials(
            [UserScramCredentialDeletion(name, Mechanism.SCRAM_SHA_512)]
        ).raise_for_failures()


def upsertion(user: str, mechanism: Mechanism, password: str) -> UserScramCredentialUpsertion:
    salted = salted_password(mechanism, password, SALT, 4096)
    return UserScramCredentialUpsertion(user, mechanism, 4096, SALT, salted)


def keys(password: str) -> list[bytes]:
    """The secret parts of the credentials of a password."""
    made = [credential(each, salted_password(each, password, SALT, 4096), SALT, 4096) for each in MECHANISMS]
    return [secret for each in made for secret in (each.stored_key, each.server_key)]


class Logins:
    """Logs a user in on two listeners of a gateway, with two clients."""

    def __init__(self, certificates: Certificates) -> None:
        self._plain, self._tls = free_ports(2)
        self._ca = certificates.ca
        self.options = (
            *("--listen", f"SASL_PLAINTEXT://127.0.0.1:{self._plain}", "--listen", f"SASL_SSL://127.0.0.1:{self._tls}"),
            *("--override", "sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512"),
            *("--override", "ssl.keystore.type=PEM"),
            *("--override", f"ssl.keystore.location={certificates.store('broker')}"),
            *("--log-level", "DEBUG"),
        )

    def admin(self, user: str, password: str, mechanism: Mechanism, *, tls: bool) -> SyncAdminClient:
        sasl = Scram(user, password, mechanism.word)
        if tls:
            return SyncAdminClient(f"127.0.0.1:{self._tls}", sasl=sasl, tls=Tls(ca=str(self._ca)))
        return SyncAdminClient(f"127.0.0.1:{self._plain}", sasl=sasl)

    def librdkafka(self, user: str, password: str, mechanism: Mechanism, *, tls: bool) -> Any:
        library: Any = confluent_kafka.admin
        settings = {
            "bootstrap.servers": f"127.0.0.1:{self._tls if tls else self._plain}",
            "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
            "ssl.ca.location": str(self._ca),
            "sasl.mechanism": mechanism.word,
            "sasl.username": user,
            "sasl.password": password,
        }
        return library.AdminClient(settings)

    def topics_of_kafka_python(self, user: str, password: str) -> list[str]:
        client: Any = KafkaAdminClient(
            bootstrap_servers=f"127.0.0.1:{self._plain}",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_plain_username=user,
            sasl_plain_password=password,
        )
        found: list[str] = client.list_topics()
        client.close()
        return found

    def may(self, user: str, password: str, mechanism: Mechanism = Mechanism.SCRAM_SHA_256) -> bool:
        with self.admin(user, password, mechanism, tls=False) as admin:
            try:
                admin.describe_cluster()
            except AuthenticationFailed:
                return False
            return True


def test_users_log_in_with_their_own_passwords(
    kafka_431: KafkaBroker,
    topic: str,  # noqa: F811
    user: str,
    certificates: Certificates,
    tmp_path: Path,
) -> None:
    store, resource, logins = tmp_path / "gw.db", Resource.topic(topic), Logins(certificates)
    said: list[str] = []
    with gateway(kafka_431, store, *logins.options, *OPT_IN, listen=False) as (_, process):
        for mechanism in MECHANISMS:
            for tls in (False, True):
                with logins.admin(user, FIRST, mechanism, tls=tls) as admin:
                    value = 1000 * mechanism + tls
                    admin.incremental_alter_configs({resource: setting(value)}).raise_for_failures()
                found = logins.librdkafka(user, FIRST, mechanism, tls=tls).list_topics(timeout=60)
                assert topic in found.topics
        assert not logins.may(user, "wrong")
        assert not logins.may("nobody", FIRST)
        with logins.admin(user, FIRST, Mechanism.SCRAM_SHA_256, tls=True) as admin:
            authors = [each.caller.principal for each in admin.list_changes(begin(admin), about=[resource]).revisions]
            assert authors == [f"User:{user}"] * 4
            admin.alter_user_scram_credentials([upsertion(user, Mechanism.SCRAM_SHA_256, SECOND)]).raise_for_failures()
            assert [logins.may(user, each) for each in (FIRST, SECOND)] == [False, True]
            admin.describe_cluster()  # as in Kafka, a connection stays authenticated
        process.terminate()
        said += process.communicate(timeout=60)
    with gateway(kafka_431, store, *logins.options, *OPT_IN, listen=False) as (_, process):
        assert [logins.may(user, each) for each in (FIRST, SECOND)] == [False, True]
        with SyncAdminClient(kafka_431.bootstrap) as direct:
            removal = UserScramCredentialDeletion(user, Mechanism.SCRAM_SHA_256)
            direct.alter_user_scram_credentials([removal]).raise_for_failures()
        until(lambda: logins.may(user, SECOND), False)
        assert logins.may(user, FIRST, Mechanism.SCRAM_SHA_512)
        process.terminate()
        said += process.communicate(timeout=60)
    written = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert {"gw.db", "gw.db.image"} <= written.keys()
    assert "User:" in "".join(said)
    for name, data in {**written, "log": "".join(said).encode()}.items():
        for secret in (*keys(FIRST), *keys(SECOND), FIRST.encode(), SECOND.encode()):
            assert not [form for form in (secret, secret.hex().encode(), b64encode(secret)) if form in data], name


def test_scram_logins_need_a_setting(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    words = ["--upstream", kafka_431.bootstrap, "--controllers", kafka_431.address("CONTROLLER")]
    words += ["--store", f"sqlite:///{tmp_path / 'gw.db'}", "--listen", "SASL_PLAINTEXT://127.0.0.1:0"]
    words += ["--override", "sasl.enabled.mechanisms=SCRAM-SHA-512"]
    command = [sys.executable, "-m", "kconf", "serve", *words]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 1
    assert "set gateway.scram.logins=true" in refused.stderr


def lines(user: str, password: str) -> str:
    """What `kconf scram credential` prints for a password from stdin."""
    words = ["scram", "credential", "--user", user, "--password-file", "-"]
    command = [sys.executable, "-m", "kconf", *words]
    return subprocess.run(command, input=f"{password}\n", capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("polls", [True, False], ids=["without controllers", "with controllers"])
def test_users_of_the_gateway_log_in_with_passwords_that_the_cluster_does_not_have(
    kafka_431: KafkaBroker,
    topic: str,  # noqa: F811
    certificates: Certificates,
    tmp_path: Path,
    polls: bool,
) -> None:
    file, store, resource, logins = tmp_path / "users", tmp_path / "gw.db", Resource.topic(topic), Logins(certificates)
    file.touch(0o600)
    file.write_text(lines("alice", FIRST))
    options = (*logins.options, "--override", f"gateway.scram.file={file}")
    with gateway(kafka_431, store, *options, listen=False, polls=polls) as (_, process):
        for mechanism in MECHANISMS:
            with logins.admin("alice", FIRST, mechanism, tls=True) as admin:
                admin.incremental_alter_configs({resource: setting(1000 + mechanism)}).raise_for_failures()
        with logins.admin("alice", FIRST, Mechanism.SCRAM_SHA_256, tls=False) as admin:
            authors = [each.caller.principal for each in admin.list_changes(begin(admin), about=[resource]).revisions]
            assert authors == ["User:alice"] * 2
            assert "alice" not in admin.describe_user_scram_credentials()  # those of the cluster
        assert topic in logins.topics_of_kafka_python("alice", FIRST)
        assert (
            topic
            in logins.librdkafka("alice", FIRST, Mechanism.SCRAM_SHA_512, tls=False).list_topics(timeout=60).topics
        )
        assert not logins.may("alice", SECOND)
        assert not logins.may("bob", FIRST)
        file.write_text(lines("alice", SECOND) + lines("bob", FIRST))
        until(lambda: logins.may("bob", FIRST), True)
        assert [logins.may("alice", each) for each in (FIRST, SECOND)] == [False, True]
        process.terminate()
        said = "".join(process.communicate(timeout=60))
    for name, data in {each.name: each.read_bytes() for each in tmp_path.iterdir() if each != file}.items():
        assert b"stored_key" not in data, name
    assert "stored_key" not in said


def test_without_controllers_scram_logins_need_users_of_the_gateway(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    words = ["--upstream", kafka_431.bootstrap, *OPT_IN, "--override", "sasl.enabled.mechanisms=SCRAM-SHA-512"]
    words += ["--store", f"sqlite:///{tmp_path / 'gw.db'}", "--listen", "SASL_PLAINTEXT://127.0.0.1:0"]
    command = [sys.executable, "-m", "kconf", "serve", *words]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 1
    assert "give the gateway its own SCRAM users (gateway.scram.file)" in refused.stderr
