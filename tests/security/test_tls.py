"""TLS listeners: the principal of a certificate, key stores, and certificate changes with open connections."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient as RdKafkaAdmin

from kconf import AlterConfigOp, ErrorCode, InvalidRequest, OpType, Resource, SyncAdminClient, Tls
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, read_response, request
from kconf.security.x509_names import alternatives_of, subject_of
from kconf.server.auth.tls_context import PrincipalRules
from kconf.util.rate_limited_log import BURST, PER_SECOND
from tests.support.certificates_in_der import Attribute, issue, name
from tests.support.process import HOST, KconfProcess
from tests.unit.client.certificates import PASSWORD, Certificates


def pem(certificates: Certificates, **more: str) -> dict[str, str]:
    return {
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
        "dynamic.files.directories": tempfile.gettempdir(),
        **{name.replace("__", ".").replace("_", "."): value for name, value in more.items()},
    }


def context(certificates: Certificates, *, client: bool = False) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(certificates.ca))
    if client:
        made.load_cert_chain(certificates.certificate("client"), certificates.key("client"))
    return made


def connect(server: KconfProcess, made: ssl.SSLContext, listener: str = "SSL") -> ssl.SSLSocket:
    port = int(server.address(listener).rpartition(":")[2])
    return made.wrap_socket(socket.create_connection((HOST, port), timeout=60), server_hostname="localhost")


def ask(line: socket.socket, api: str = "ApiVersions", version: int = 0, **fields: object) -> object:
    row = BY_NAME[api]
    line.sendall(request(row, version, 1, "x", row.request(**fields)))
    (size,) = LENGTH.unpack(_exactly(line, 4))
    return read_response(row, version, _exactly(line, size))[1]


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data


def serial(line: ssl.SSLSocket) -> str:
    return str((line.getpeercert() or {})["serialNumber"])


@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS", "inline"])
def test_every_store_type_of_kafka_is_accepted(certificates: Certificates, kind: str) -> None:
    if kind == "PEM":
        properties = pem(certificates, ssl_client_auth="required")
    elif kind == "inline":
        text = {
            "ssl.keystore.key": certificates.key("broker").read_text(),
            "ssl.keystore.certificate.chain": certificates.certificate("broker").read_text(),
            "ssl.truststore.certificates": certificates.ca.read_text(),
        }
        properties = {key: value.replace("\n", "\\n") for key, value in text.items()}
        properties |= {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM", "ssl.client.auth": "required"}
    else:
        if kind == "PKCS12":
            import_module("cryptography")
        store = certificates.pkcs12("broker") if kind == "PKCS12" else certificates.jks("broker")
        properties = {
            "ssl.keystore.location": str(store),
            "ssl.keystore.password": PASSWORD,
            "ssl.keystore.type": kind,
            "ssl.truststore.location": str(certificates.trust(kind)),
            "ssl.truststore.password": PASSWORD,
            "ssl.truststore.type": kind,
            "ssl.client.auth": "required",
        }
    with KconfProcess(properties=properties, listeners=["SSL"]) as server:
        with connect(server, context(certificates, client=True)) as line:
            assert ask(line)
        assert librdkafka(server, certificates).list_topics(timeout=60).brokers
        with pytest.raises((ssl.SSLError, ConnectionError)), connect(server, context(certificates)) as line:
            ask(line)


def librdkafka(server: KconfProcess, certificates: Certificates) -> RdKafkaAdmin:
    """A client that trusts the test CA, and has its own certificate."""
    return RdKafkaAdmin(
        {
            "bootstrap.servers": server.address("SSL"),
            "security.protocol": "SSL",
            "ssl.ca.location": str(certificates.ca),
            "ssl.certificate.location": str(certificates.certificate("client")),
            "ssl.key.location": str(certificates.key("client")),
        }
    )


@pytest.fixture(scope="module")
def mutual(certificates: Certificates) -> Iterator[KconfProcess]:
    properties = pem(certificates) | {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,ASKED:SSL,RULED:SSL,STRICT:SSL",
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.asked.ssl.client.auth": "requested",
        "listener.name.ruled.ssl.client.auth": "required",
        "listener.name.ruled.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1-of-ours/U,DEFAULT",
        "listener.name.strict.ssl.client.auth": "required",
        "listener.name.strict.ssl.principal.mapping.rules": "RULE:^CN=nobody$/x/",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:CN=client;User:CLIENT-OF-OURS",
    }
    names = ["PLAINTEXT", "SSL", "ASKED", "RULED", "STRICT"]
    with KconfProcess(properties=properties, listeners=names, args=["--metrics", f"{HOST}:0"]) as server:
        yield server


def last_author(server: KconfProcess) -> str:
    with SyncAdminClient(server.address("PLAINTEXT")) as admin:
        return admin.list_changes().revisions[-1].caller.principal


@pytest.mark.parametrize(
    ("listener", "certified", "principal"),
    [
        ("SSL", True, "User:CN=client"),
        ("ASKED", True, "User:CN=client"),
        ("ASKED", False, "User:ANONYMOUS"),
        ("RULED", True, "User:CLIENT-OF-OURS"),
    ],
)
def test_the_principal_of_a_client_comes_from_its_certificate(
    mutual: KconfProcess, certificates: Certificates, listener: str, certified: bool, principal: str
) -> None:
    me = (str(certificates.certificate("client")), str(certificates.key("client"))) if certified else (None, None)
    with SyncAdminClient(mutual.address(listener), tls=Tls(str(certificates.ca), *me)) as admin:
        admin.create_topics([f"by-{listener}-{certified}"]).raise_for_failures()
    assert last_author(mutual) == principal


def test_a_certificate_that_no_rule_matches_is_refused(mutual: KconfProcess, certificates: Certificates) -> None:
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        connect(mutual, context(certificates, client=True), "STRICT") as line,
    ):
        ask(line)


@pytest.mark.parametrize(
    ("subject", "principal"),
    [
        ([("2.5.4.3", 0x13, b"not_printable@*")], "User:CN=not_printable@*"),
        (
            [("2.5.4.10", 0x0C, b"not in the order of DER"), ("2.5.4.3", 0x0C, b"m")],
            "User:O=not in the order of DER+CN=m",
        ),
    ],
)
def test_a_subject_that_only_strict_parsers_refuse_is_a_principal(
    loose: KconfProcess, certificates: Certificates, tmp_path: Path, subject: list[Attribute], principal: str
) -> None:
    (tmp_path / "odd.pem").write_text(issue(certificates, name([subject])))
    me = str(tmp_path / "odd.pem"), str(certificates.key("client"))
    with SyncAdminClient(loose.address("SSL"), tls=Tls(str(certificates.ca), *me)) as admin:
        admin.create_topics([f"odd-{len(subject)}"]).raise_for_failures()
    assert last_author(loose) == principal


def test_a_certificate_that_is_not_der_is_refused(
    loose: KconfProcess, certificates: Certificates, tmp_path: Path
) -> None:
    subject = name([[("2.5.4.3", 0x0C, b"alice")]])
    indefinite = b"\x30\x80" + subject[2:] + b"\0\0"  # OpenSSL accepts it
    (tmp_path / "ber.pem").write_text(issue(certificates, indefinite))
    made = context(certificates)
    made.load_cert_chain(tmp_path / "ber.pem", certificates.key("client"))

    with pytest.raises((ssl.SSLError, ConnectionError)), connect(loose, made) as line:
        ask(line)
    _until(lambda: "not encoded in DER" in loose.log())


@pytest.fixture(scope="module")
def loose(certificates: Certificates) -> Iterator[KconfProcess]:
    """A server on which clients with a certificate may do everything."""
    with KconfProcess(
        properties=pem(certificates, ssl_client_auth="required"), listeners=["PLAINTEXT", "SSL"]
    ) as server:
        yield server


def counted(server: KconfProcess, name: str) -> int:
    assert server.metrics_url is not None
    told = urllib.request.urlopen(server.metrics_url).read().decode()
    return int(float(told.partition(f"\nkconf_{name}_total ")[2].split()[0]))


def _without(certificates: Certificates, _: Path) -> ssl.SSLContext:
    return context(certificates)


def _without_in_tls_1_2(certificates: Certificates, _: Path) -> ssl.SSLContext:
    made = context(certificates)
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    return made


def _of_another_ca(certificates: Certificates, path: Path) -> ssl.SSLContext:
    other = Certificates(path)
    made = context(certificates)
    made.load_cert_chain(other.certificate("client"), other.key("client"))
    return made


def _too_old(certificates: Certificates, _: Path) -> ssl.SSLContext:
    made = context(certificates, client=True)
    made.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made.minimum_version = ssl.TLSVersion.TLSv1
        made.maximum_version = ssl.TLSVersion.TLSv1_1
    return made


FAILING = [
    (_without, "CERTIFICATE_REQUIRED", "peer did not return a certificate"),
    (_without_in_tls_1_2, "HANDSHAKE_FAILURE", "peer did not return a certificate"),
    (_of_another_ca, "UNKNOWN_CA", "certificate verify failed"),
    (_too_old, "PROTOCOL_VERSION", "unsupported protocol"),
]


@pytest.mark.parametrize(("make", "alert", "reason"), FAILING)
def test_a_failed_handshake_gets_an_alert_and_is_counted_and_logged(
    mutual: KconfProcess,
    certificates: Certificates,
    tmp_path: Path,
    make: Callable[[Certificates, Path], ssl.SSLContext],
    alert: str,
    reason: str,
) -> None:
    made = make(certificates, tmp_path)
    before = [counted(mutual, each) for each in ("failed_handshakes", "failed_logins")]
    with pytest.raises(ssl.SSLError, match=alert), connect(mutual, made) as line:
        ask(line)
    assert [counted(mutual, each) for each in ("failed_handshakes", "failed_logins")] == [each + 1 for each in before]
    assert f"login failed peer={HOST} reason='TLS handshake: {reason}'" in mutual.log()


def test_failed_handshakes_are_logged_at_a_limited_rate(mutual: KconfProcess, certificates: Certificates) -> None:
    before, logged = counted(mutual, "failed_handshakes"), mutual.log().count("login failed")
    began = time.monotonic()
    for _ in range(60):
        with pytest.raises(ssl.SSLError), connect(mutual, context(certificates)) as line:
            ask(line)
    assert counted(mutual, "failed_handshakes") == before + 60
    most = BURST + PER_SECOND * (time.monotonic() - began)
    assert 1 <= mutual.log().count("login failed") - logged <= most


def test_a_client_that_disconnects_during_the_handshake_does_not_count_as_failed(
    mutual: KconfProcess, certificates: Certificates
) -> None:
    before = counted(mutual, "failed_handshakes")
    port = int(mutual.address("SSL").rpartition(":")[2])
    for _ in range(5):
        socket.create_connection((HOST, port), timeout=60).close()
    with connect(mutual, context(certificates, client=True)) as line:
        assert ask(line)
    assert counted(mutual, "failed_handshakes") == before


def test_an_unfinished_handshake_counts_as_a_connection(certificates: Certificates) -> None:
    """An idle connection to a TLS port cannot bypass the limits."""
    properties = pem(certificates) | {"max.connections.per.ip": "2"}
    with KconfProcess(properties=properties, listeners=["SSL"]) as server:
        port = int(server.address("SSL").rpartition(":")[2])
        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(socket.create_connection((HOST, port), timeout=60))
            with pytest.raises((ssl.SSLError, ConnectionError)):
                connect(server, context(certificates))
        _until(lambda: _trusts(server, certificates))


def test_plain_bytes_on_a_tls_port_do_not_affect_other_connections(
    mutual: KconfProcess, certificates: Certificates
) -> None:
    port = int(mutual.address("SSL").rpartition(":")[2])
    with socket.create_connection((HOST, port), timeout=60) as line:
        line.sendall(request(BY_NAME["ApiVersions"], 0, 1, "x", BY_NAME["ApiVersions"].request()))
        with suppress(ConnectionError):
            while line.recv(4096):
                pass
    with connect(mutual, context(certificates, client=True)) as line:
        assert ask(line)
    assert "Traceback" not in mutual.log()


def test_certificates_are_replaced_without_affecting_open_connections(
    certificates: Certificates, tmp_path: Path
) -> None:
    """A new key store by IncrementalAlterConfigs: new connections use it, old ones continue, none is refused."""
    other = Certificates(tmp_path)
    properties = pem(certificates) | {"listener.name.ssl.ssl.keystore.type": "PEM"}
    key = "listener.name.ssl.ssl.keystore.location"
    with KconfProcess(properties=properties, listeners=["PLAINTEXT", "SSL"]) as server:
        with SyncAdminClient(server.address("PLAINTEXT")) as admin, connect(server, context(certificates)) as old:
            before = serial(old)

            def renew(path: str) -> None:
                change = {Resource.broker(1): [AlterConfigOp(OpType.SET, key, path)]}
                admin.incremental_alter_configs(change)[Resource.broker(1)]

            with pytest.raises(InvalidRequest, match="cannot be read"):
                renew(str(tmp_path / "missing.pem"))
            renew(str(other.store("broker")))
            _until(lambda: _serial_now(server, other) != before)
            assert ask(old), "the connection from before"
            assert librdkafka(server, other).list_topics(timeout=60).brokers
            # The file is changed in place, and the same value is set again.
            again = _serial_now(server, other)
            other.issue("broker", "subjectAltName=IP:127.0.0.1,DNS:localhost")
            renew(str(other.store("broker")))
            _until(lambda: _serial_now(server, other) != again)
            assert ask(old)
            # Back to the file's own.
            change = {Resource.broker(1): [AlterConfigOp(OpType.DELETE, key)]}
            admin.incremental_alter_configs(change).raise_for_failures()
            _until(lambda: _trusts(server, certificates))
            assert ask(old)
        renewed = server.log().count("loaded new certificates")
        assert renewed >= 3
        server.restart()
        with connect(server, context(certificates)) as line:
            assert ask(line)


def test_a_changed_truststore_rejects_clients_that_are_no_longer_trusted(
    certificates: Certificates, tmp_path: Path
) -> None:
    other = Certificates(tmp_path)
    with KconfProcess(
        properties=pem(certificates, ssl_client_auth="required"), listeners=["PLAINTEXT", "SSL"]
    ) as server:
        with connect(server, context(certificates, client=True)) as line:
            assert ask(line)
        with SyncAdminClient(server.address("PLAINTEXT")) as admin:
            settings = {"type": "PEM", "location": str(other.ca)}
            requests = [
                AlterConfigOp(OpType.SET, f"listener.name.ssl.ssl.truststore.{key}", value)
                for key, value in settings.items()
            ]
            admin.incremental_alter_configs({Resource.broker(1): requests}).raise_for_failures()

        def refused() -> bool:
            try:
                with connect(server, context(certificates, client=True)) as line:
                    ask(line)
            except (ssl.SSLError, ConnectionError):
                return True
            return False

        _until(refused)


def test_new_connections_are_accepted_while_certificates_are_renewed(certificates: Certificates) -> None:
    key = "listener.name.ssl.ssl.keystore.location"
    properties = pem(certificates) | {"listener.name.ssl.ssl.keystore.type": "PEM"}
    with KconfProcess(properties=properties, listeners=["PLAINTEXT", "SSL"]) as server:
        with SyncAdminClient(server.address("PLAINTEXT")) as admin:
            admin.describe_cluster()
            files = Path(f"/proc/{server.pid}/fd")
            before = len(list(files.iterdir()))
            for _ in range(20):
                change = {Resource.broker(1): [AlterConfigOp(OpType.SET, key, str(certificates.store("broker")))]}
                admin.incremental_alter_configs(change).raise_for_failures()
                for _ in range(3):
                    with connect(server, context(certificates)) as line:
                        assert ask(line)
            _until(lambda: len(list(files.iterdir())) <= before + 1)
        assert server.log().count("loaded new certificates") >= 20


REPLACEMENTS = [
    ("the same names", "/CN=broker", "IP:127.0.0.1,DNS:localhost", True, True),
    ("one name more", "/CN=broker", "DNS:localhost,DNS:more.example.org,IP:127.0.0.1", True, True),
    ("another case", "/CN=BROKER", "IP:127.0.0.1,DNS:localhost", True, True),
    ("another subject", "/CN=another", "IP:127.0.0.1,DNS:localhost", False, True),
    ("one name less", "/CN=broker", "DNS:localhost", False, True),
]
"""A certificate's subject and other names, and whether it may replace that of CN=broker: as it is, and where changes
are allowed. tests/conformance/test_listeners.py holds a real broker to the same."""


@pytest.mark.parametrize(("what", "subject", "names", "strictly", "freely"), REPLACEMENTS)
def test_a_new_certificate_must_have_the_names_of_the_old_one(
    certificates: Certificates, tmp_path: Path, what: str, subject: str, names: str, strictly: bool, freely: bool
) -> None:
    other = Certificates(tmp_path)
    other.issue("broker", f"subjectAltName={names}", subject)
    properties = pem(certificates) | {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,FREE:SSL",
        "listener.name.free.ssl.allow.dn.changes": "true",
        "listener.name.free.ssl.allow.san.changes": "true",
    }
    with KconfProcess(properties=properties, listeners=["PLAINTEXT", "SSL", "FREE"]) as server:
        assert [may_replace(server.address("PLAINTEXT"), each, other.store("broker")) for each in ("ssl", "free")] == [
            strictly,
            freely,
        ], what


def may_replace(bootstrap: str, listener: str, store: Path) -> bool:
    """Whether a broker accepts another PEM store for its listener."""
    key = f"listener.name.{listener}.ssl.keystore.location"
    with SyncAdminClient(bootstrap) as admin:
        done = admin.incremental_alter_configs({Resource.broker(1): [AlterConfigOp(OpType.SET, key, str(store))]})
    for failure in done.failures.values():
        assert failure.code == ErrorCode.INVALID_REQUEST, failure
    return not done.failures


def test_alternative_names_are_found_among_other_extensions(certificates: Certificates) -> None:
    def names(name: str) -> int:
        return len(alternatives_of(ssl.PEM_cert_to_DER_cert(certificates.certificate(name).read_text())))

    assert (names("broker"), names("client")) == (2, 0)


def _serial_now(server: KconfProcess, certificates: Certificates) -> str:
    both = ssl.create_default_context(cafile=str(certificates.ca))
    try:
        with connect(server, both) as line:
            return serial(line)
    except (ssl.SSLError, ConnectionError):
        return ""


def _trusts(server: KconfProcess, certificates: Certificates) -> bool:
    return bool(_serial_now(server, certificates))


def _until(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


# -- names ---------------------------------------------------------------------------------------------------------

SUBJECTS = [
    "/CN=client",
    "/C=DE/O=Ours, Inc./OU=ops+dev/CN=al\\\\ice",
    "/DC=org/DC=example/UID=u1/CN=with = and # and ; <x>",
    '/O= leading and trailing /CN=a"b',
    "/CN=mail/emailAddress=a@example.org",
    "/O=Ünïcode/CN=名前",
    "/serialNumber=5/street=Road 1/L=Town/ST=State/CN=x",
]


NAMES = """
import java.io.*;
import java.security.cert.*;
public class Names {
    public static void main(String[] files) throws Exception {
        var out = new PrintStream(System.out, true, "UTF-8");
        for (String file : files) {
            var factory = CertificateFactory.getInstance("X.509");
            var certificate = (X509Certificate) factory.generateCertificate(new FileInputStream(file));
            out.print(certificate.getSubjectX500Principal().getName() + "\\0");
        }
    }
}
"""


@pytest.fixture(scope="module")
def names_in_java(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, str]]:
    """A certificate for each subject, in DER, and the name that Java prints for it."""
    if shutil.which("java") is None:
        pytest.fail("this test needs the JDK's keytool")
    where = tmp_path_factory.mktemp("names")
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8"]
    for number, subject in enumerate(SUBJECTS):
        options = ["-days", "1", "-keyout", "k.pem", "-out", f"{number}.pem", "-subj", subject]
        made = subprocess.run([*request, *options], cwd=where, capture_output=True, check=False)
        assert made.returncode == 0, made.stderr
    (where / "Names.java").write_text(NAMES)
    files = [f"{number}.pem" for number in range(len(SUBJECTS))]
    told = subprocess.run(["java", "Names.java", *files], cwd=where, capture_output=True, check=True).stdout.decode()
    read = [ssl.PEM_cert_to_DER_cert((where / file).read_text()) for file in files]
    return dict(zip(SUBJECTS, zip(read, told.split("\0")[:-1], strict=True), strict=True))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_name_is_written_as_java_writes_it(names_in_java: dict[str, tuple[bytes, str]], subject: str) -> None:
    certificate, name = names_in_java[subject]

    assert subject_of(certificate) == name


DN = "CN=Duke,OU=JavaSoft,O=Sun Microsystems,C=US"


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ("DEFAULT", DN, DN),
        ("", DN, DN),
        ("RULE:^CN=(.*?),OU=.*$/$1/,DEFAULT", DN, "Duke"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L,DEFAULT", DN, "duke@javasoft"),
        ("RULE:^CN=(.*?),OU=.*$/$1/U", DN, "DUKE"),
        ("RULE:^cn=nobody$/x/,RULE:^.*C=(US)$/$1/", DN, "US"),
        ("RULE:^CN=nobody$/x/", DN, None),
        ("RULE:CN=Duke/x/", DN, None),
        ("RULE:^.*O=Sun Micro(.*?),.*$/a\\/b$1/", DN, "a/bsystems"),
    ],
)
def test_a_mapping_rule_determines_the_principal(rules: str, name: str, expected: str | None) -> None:
    assert PrincipalRules.parse(rules).apply(name) == expected
