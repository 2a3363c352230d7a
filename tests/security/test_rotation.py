"""`password.encoder.secret` can be changed with the old one, and a store cannot be used without its secret.

TLS shows whether a value can still be decrypted: the password of the key store is only in kconf's store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from tests.security.test_tls import ask, connect, context
from tests.support.process import KconfProcess
from tests.support.secrets import assert_nowhere
from tests.unit.client.certificates import PASSWORD, Certificates

KEY = "listener.name.ssl.ssl.keystore.password"


@pytest.fixture
def server(certificates: Certificates) -> Iterator[KconfProcess]:
    """A server whose password is first in the file, and then also in the store."""
    with KconfProcess(listeners=("PLAINTEXT", "SSL"), properties=properties(certificates, "one", static=True)) as made:
        with SyncAdminClient(made.address("PLAINTEXT")) as admin:
            admin.incremental_alter_configs({Resource.broker(1): [AlterConfigOp(OpType.SET, KEY, PASSWORD)]})[
                Resource.broker(1)
            ]
        yield made


def properties(certificates: Certificates, secret: str, old: str = "", *, static: bool = False) -> dict[str, str]:
    return {
        "ssl.keystore.location": str(certificates.pkcs12("broker")),
        "ssl.keystore.type": "PKCS12",
        "password.encoder.secret": secret,
        **({"password.encoder.old.secret": old} if old else {}),
        **({"ssl.keystore.password": PASSWORD} if static else {}),
    }


def again(server: KconfProcess, given: dict[str, str]) -> None:
    """Restart with another server.properties."""
    if server.is_running:
        server.stop()
    text = "".join(f"{key}={value}\n" for key, value in given.items())
    (server.directory / "server.properties").write_text(text)
    server.start()


def shakes_hands(server: KconfProcess, certificates: Certificates) -> bool:
    with connect(server, context(certificates)) as line:
        return bool(ask(line)) and line.version() == "TLSv1.3"


def locked(server: KconfProcess) -> set[bytes]:
    """The stored form of the password in the files of the store."""
    data = b"".join(each.read_bytes() for each in server.directory.glob("kconf.db*"))
    return set(re.findall(rb'\["[0-9a-f]{12}",\s*"([A-Za-z0-9+/=]+)"\]', data))


def test_a_secret_is_replaced_if_the_old_one_is_given(server: KconfProcess, certificates: Certificates) -> None:
    server.stop()
    before = locked(server)
    assert before
    again(server, properties(certificates, "two", "one"))
    assert shakes_hands(server, certificates)
    server.stop()
    assert locked(server) - before, "it was locked again at once"
    again(server, properties(certificates, "two"))
    assert shakes_hands(server, certificates), "the old secret can go"
    assert_nowhere(server.directory, [PASSWORD], but=["server.properties"])


def test_a_value_that_no_secret_decrypts_is_left_out_and_reported(
    server: KconfProcess, certificates: Certificates
) -> None:
    again(server, properties(certificates, "wrong", static=True))
    assert shakes_hands(server, certificates), "by the password of the file"
    lines = [each for each in server.log().splitlines() if KEY in each and "level=ERROR" in each]
    assert len(lines) == 1
    again(server, properties(certificates, "one"))
    assert shakes_hands(server, certificates), "and it was not thrown away"


def test_a_start_without_the_secret_reports_it(server: KconfProcess, certificates: Certificates) -> None:
    with pytest.raises(RuntimeError, match=r"listener SSL: .*keystore") as raised:
        again(server, properties(certificates, "wrong"))
    assert "Traceback" not in str(raised.value)
