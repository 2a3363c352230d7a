"""Sessions that expire and are re-authenticated (KIP-368), by a clock that the tests set."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.errors import ErrorCode, RemoteProtocolError
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.server.auth.mechanisms import SaslConfig
from kconf.server.auth.sasl_authenticator import SaslServerAuthenticator

GOOD = b"\0alice\0alice-secret"
SECONDS = 5.0
CONFIG = SaslConfig(
    ("PLAIN",), {"alice": "alice-secret"}, lambda _user, _mechanism: None, {"PLAIN": int(SECONDS * 1000)}
)


class Session:
    """A client's connection, without a socket."""

    def __init__(self, config: SaslConfig = CONFIG) -> None:
        self.now = 1000.0
        self.users: list[str] = []
        self.authenticator = SaslServerAuthenticator(config, self.users.append, lambda: self.now)

    def log_in(self) -> Any:
        assert self._answer("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        return self._answer("SaslAuthenticate", 2, auth_bytes=GOOD)

    def may_renew(self) -> bool:
        return self.authenticator.begins_reauthentication(_request("SaslHandshake", 1, mechanism="PLAIN"), 0)

    def has_expired(self) -> bool:
        try:
            self.authenticator.check_session()
        except RemoteProtocolError:
            return True
        return False

    def _answer(self, name: str, version: int, **fields: Any) -> Any:
        step = self.authenticator.process(_request(name, version, **fields)[4:])
        assert step.failure is None
        assert step.response is not None
        return read_response(BY_NAME[name], version, step.response[4:])[1]


def _request(name: str, version: int, **fields: Any) -> bytes:
    api = BY_NAME[name]
    return request(api, version, 7, "client", api.request(**fields))


def test_a_session_ends_when_its_lifetime_is_over() -> None:
    session = Session()
    answer = session.log_in()

    assert (answer.error_code, answer.session_lifetime_ms) == (ErrorCode.NONE, 5000)
    assert session.users == ["alice"]
    session.now += SECONDS - 0.001
    assert not session.has_expired()
    session.now += 0.001
    assert session.has_expired()


def test_a_renewal_starts_a_new_lifetime() -> None:
    session = Session()
    session.log_in()
    session.now += SECONDS - 1
    assert session.may_renew()
    assert session.log_in().session_lifetime_ms == 5000

    session.now += SECONDS - 1
    assert not session.has_expired()
    session.now += 1
    assert session.has_expired()


def test_a_session_is_renewed_at_most_once_per_second() -> None:
    session = Session()
    session.log_in()
    assert session.may_renew()
    session.log_in()

    session.now += 0.999
    assert not session.may_renew()
    session.now += 0.001
    assert session.may_renew()


@pytest.mark.parametrize("lifetimes", [{}, {"PLAIN": 0}])
def test_a_session_without_a_lifetime_never_expires_and_cannot_be_renewed(lifetimes: dict[str, int]) -> None:
    session = Session(SaslConfig(("PLAIN",), CONFIG.plain_users, CONFIG.scram_credential, lifetimes))

    assert session.log_in().session_lifetime_ms == 0
    session.now += 10 * 365 * 86400
    assert not session.has_expired()
    assert not session.may_renew()
    assert session.authenticator.is_complete
