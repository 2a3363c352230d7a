"""Secrets in every place that accepts one: the process never writes or sends any of them."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconf import (
    AlterConfigOp,
    AuthenticationFailed,
    KafkaError,
    Mechanism,
    OpType,
    Plain,
    Resource,
    ResourceType,
    Scram,
    SyncAdminClient,
    Tls,
    scram_upsertion,
)
from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.resolver import ConfigResolver
from kconf.model.alteration import ResourceAlterations
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import Plan
from kconf.model.snapshot import Snapshot
from kconf.protocol.apis import BY_NAME
from kconf.security.jaas import parse
from kconf.security.password_encoder import PasswordEncoder
from kconf.security.scram import credential, salted_password
from kconf.security.value_cipher import Secrets, ValueCipher
from kconf.server.auth.mechanisms import SaslConfig
from kconf.server.server import ServerOptions
from kconf.service import State
from tests.security.sasl_server import PLAIN_MODULE
from tests.support.process import HOST, KconfProcess
from tests.support.secrets import assert_nowhere, assert_private, assert_unsaid
from tests.unit.client.certificates import Certificates

MARK = "Tr0ub4dor"
PREFIX = "listener.name.sasl_ssl.ssl"


def secret(word: str) -> str:
    return f"{MARK}-{word}"


@pytest.fixture(scope="module")
def planted(certificates: Certificates) -> Iterator[KconfProcess]:
    """A server whose secrets all contain MARK, and that has processed every kind of request with secrets."""
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="{secret("plain")}";',
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.key.password": secret("key"),
        "ssl.truststore.password": secret("trust"),
        "password.encoder.secret": secret("encoder"),
        "password.encoder.old.secret": secret("old-encoder"),
        "my.own.secret": secret("custom"),
    }
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL")
    args = ["--metrics", f"{HOST}:0", "--log-level", "DEBUG"]
    with KconfProcess(properties=properties, listeners=listeners, args=args) as server:
        _meet(server, certificates)
        yield server


def _meet(server: KconfProcess, certificates: Certificates) -> None:
    with SyncAdminClient(server.address("PLAINTEXT")) as admin:
        good = {
            f"{PREFIX}.keystore.password": secret("dynamic"),
            f"{PREFIX}.key.password": secret("dynamic-key"),
            "an.unknown.key": secret("unknown"),
            "listener.name.nobody.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_x="{secret("jaas")}";',
        }
        for key, value in good.items():
            admin.incremental_alter_configs(
                {Resource.broker(1): [AlterConfigOp(OpType.SET, key, value)]}
            ).raise_for_failures()
        bad = {
            "ssl.keystore.password": secret("bare"),
            f"{PREFIX}.keystore.key": secret("no-key"),
            "log.retention.ms": secret("not-a-number"),
        }
        for key, value in bad.items():
            for resource in (Resource.broker(1), Resource.brokers()):
                refused = admin.incremental_alter_configs({resource: [AlterConfigOp(OpType.SET, key, value)]})
                if refused.failures:
                    assert key == "log.retention.ms" or MARK not in str(refused.failures), refused.failures
        users = [scram_upsertion("bob", Mechanism.SCRAM_SHA_256, secret("scram"))]
        admin.alter_user_scram_credentials(users).raise_for_failures()
    logins = [
        Plain("alice", secret("plain")),
        Plain("alice", secret("wrong")),
        Plain(secret("as-a-name"), secret("wrong")),
        Scram("bob", secret("scram"), "SCRAM-SHA-256"),
        Scram("bob", secret("wrong-scram"), "SCRAM-SHA-256"),
    ]
    for sasl in logins:
        with SyncAdminClient(server.address("SASL_PLAINTEXT"), sasl=sasl) as user:
            with pytest.raises((KafkaError, AuthenticationFailed)) as raised:
                user.describe_configs([Resource.broker(1)])[Resource.broker(1)]
            assert MARK not in str(raised.value)


def test_no_written_file_contains_a_secret(planted: KconfProcess) -> None:
    """An invalid number is returned to its sender and stored nowhere."""
    assert_nowhere(planted.directory, [MARK], but=["server.properties"])
    assert {"kconf.db", "kconf.log"} <= {each.name for each in planted.directory.iterdir()}


def test_no_stored_value_can_be_used_as_a_password(planted: KconfProcess) -> None:
    """A salted password could be used to log in like the password itself, so it is hashed again before it is stored."""
    with SyncAdminClient(planted.address("PLAINTEXT")) as admin:
        (info,) = admin.describe_user_scram_credentials(["bob"])["bob"]
    text = next(planted.directory.glob("kconf.db")).read_bytes() + next(planted.directory.glob("*-wal")).read_bytes()
    salt = text.partition(b"salt=")[2].partition(b",")[0]
    salted = salted_password(Mechanism.SCRAM_SHA_256, secret("scram"), b64decode(salt), info.iterations)
    stored = credential(Mechanism.SCRAM_SHA_256, salted, b64decode(salt), info.iterations)
    assert b64encode(stored.stored_key) in text
    assert b64encode(salted) not in text


def test_no_output_contains_a_secret(planted: KconfProcess) -> None:
    assert planted.metrics_url is not None
    told = [urllib.request.urlopen(planted.metrics_url).read().decode()]
    told.append(urllib.request.urlopen(planted.metrics_url.replace("/metrics", "/health")).read().decode())
    with SyncAdminClient(planted.address("PLAINTEXT")) as admin:
        everything = [Resource.broker(1), Resource.brokers()]
        described = admin.describe_configs(everything, synonyms=True, documentation=True)
        told += [str([(one.name, one.value, one.synonyms) for one in described[each].entries]) for each in everything]
        told.append(str(admin.list_changes()))
        told.append(str([(each, each.keys) for each in admin.list_attempts()]))
        told.append(str(admin.describe_configs_at(everything, revision=3)))
        told.append(str(admin.describe_user_scram_credentials()))
        told.append(str(admin.list_config_resources([ResourceType.BROKER])))
    for each in told:
        assert MARK not in each


def test_the_values_are_still_set(planted: KconfProcess) -> None:
    with SyncAdminClient(planted.address("PLAINTEXT")) as admin:
        entry = admin.describe_configs([Resource.broker(1)])[Resource.broker(1)][f"{PREFIX}.keystore.password"]
    assert (entry.value, entry.sensitive) == (None, True)


def test_files_with_secrets_are_readable_only_by_their_owner(planted: KconfProcess) -> None:
    """The store, its WAL, its key and its lock file, with any umask."""
    files = list(planted.directory.glob("kconf.db*"))
    assert {"kconf.db", "kconf.db-wal", "kconf.db.key"} <= {each.name for each in files}
    assert_private(files)


def _ladder() -> ConfigResolver:
    return ConfigResolver(kafka_43(), {"ssl.key.password": MARK}, {"x": MARK}, {"y": MARK})


CHANGE = Change(ChangeKind.CONFIG, Resource.broker(1), "ssl.key.password", MARK, MARK, "set", sensitive=True)
HOLDERS: dict[str, Callable[[], object]] = {
    "settings": lambda: ServerOptions("sqlite:///x", static={"ssl.key.password": MARK}),
    "state": lambda: State(Snapshot.EMPTY.apply([CHANGE], 1), _ladder()),
    "plan": lambda: Plan(None, [CHANGE]),
    "revision": lambda: Revision(1, 0, RequestContext(), [CHANGE]),
    "realm": lambda: SaslConfig(("PLAIN",), {"alice": MARK}, lambda *_: None),
    "secrets": lambda: Secrets(MARK, MARK),
    "vault": lambda: ValueCipher(b"x" * 32, Secrets(MARK)),
    "encoder": lambda: PasswordEncoder(Secrets(MARK)),
    "requested": lambda: ResourceAlterations(Resource.broker(1), [AlterConfigOp(OpType.SET, "ssl.key.password", MARK)]),
    "credential": lambda: credential(Mechanism.SCRAM_SHA_256, MARK.encode(), MARK.encode(), 4096),
    "upsertion": lambda: scram_upsertion("u", Mechanism.SCRAM_SHA_256, "p", salt=MARK.encode()),
    "Plain": lambda: Plain("alice", MARK),
    "Scram": lambda: Scram("alice", MARK, "SCRAM-SHA-256"),
    "Tls": lambda: Tls(key=MARK, key_password=MARK),
    "JAAS": lambda: parse(f'x.Y required username="alice" password="{MARK}";'),
    "a token": lambda: BY_NAME["SaslAuthenticate"].request(auth_bytes=b"\0alice\0" + MARK.encode()),
    "client": lambda: SyncAdminClient("127.0.0.1:1", sasl=Plain("alice", MARK)),
}


@pytest.mark.parametrize("what", HOLDERS)
def test_objects_with_a_secret_do_not_show_it(what: str) -> None:
    """Checks their repr, as it would appear in a traceback or a log line."""
    holder = HOLDERS[what]()
    assert_unsaid(f"{holder!r} {holder} {[holder]}", [MARK], what)


def test_a_start_that_fails_shows_no_secret(tmp_path: Path) -> None:
    wrong = {
        "plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_x="{secret("open")}',
        "sasl.enabled.mechanisms": "PLAIN",
        "ssl.keystore.key": secret("no-pem"),
    }
    for listener in ("SASL_PLAINTEXT", "SSL"):
        (tmp_path / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in wrong.items()))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "kconf", "serve", "--listen", f"{listener}://{HOST}:0"),
                *("--config", str(tmp_path / "server.properties"), "--store", f"sqlite:///{tmp_path}/kconf.db"),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 1
        assert MARK not in done.stdout + done.stderr
