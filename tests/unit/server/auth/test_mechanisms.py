"""Logins without sockets: only valid credentials are accepted, and timing does not show which users exist."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from kconf.engine.access.scram_credentials import credential_text
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism
from kconf.model.snapshot import Snapshot
from kconf.security.scram import ScramClient, credential, salted_password, to_text
from kconf.server.auth.login_failed import LoginFailed
from kconf.server.auth.mechanisms import SaslConfig, start_exchange

PASSWORD = "correct horse battery staple"
SALT = bytes(range(20))


def snapshot(iterations: int = 4096) -> Snapshot:
    changes = []
    for mechanism in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512):
        salted = salted_password(mechanism, PASSWORD, SALT, iterations)
        kept = to_text(credential(mechanism, salted, SALT, iterations))
        user = Resource(ResourceType.SCRAM, "alice")
        changes.append(Change(ChangeKind.CONFIG, user, mechanism.word, None, kept, "set", sensitive=True))
    return Snapshot.EMPTY.apply(changes, 1)


STATE = snapshot()
CONFIG = SaslConfig(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), {"alice": PASSWORD}, partial(credential_text, STATE))


def test_the_repr_of_a_sasl_config_hides_passwords() -> None:
    assert PASSWORD not in repr(CONFIG)


@pytest.mark.parametrize("mechanism", [Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512])
def test_a_user_logs_in_with_scram(mechanism: Mechanism) -> None:
    exchange = start_exchange(mechanism.word, CONFIG)
    client = ScramClient(mechanism, "alice", PASSWORD, "nonce")
    client.verify(exchange.step(client.final(exchange.step(client.first()))))
    assert exchange.user == "alice"


def test_a_credential_with_too_few_iterations_cannot_log_in() -> None:
    weak = snapshot(iterations=1000)
    exchange = start_exchange("SCRAM-SHA-256", SaslConfig(("SCRAM-SHA-256",), {}, partial(credential_text, weak)))
    client = ScramClient(Mechanism.SCRAM_SHA_256, "alice", PASSWORD, "nonce")
    with pytest.raises(LoginFailed):
        exchange.step(client.final(exchange.step(client.first())))
    assert exchange.user is None


def test_a_repeated_final_message_fails_the_login() -> None:
    exchange = start_exchange("SCRAM-SHA-256", CONFIG)
    client = ScramClient(Mechanism.SCRAM_SHA_256, "alice", "wrong", "nonce")
    final = client.final(exchange.step(client.first()))
    for _ in range(2):
        with pytest.raises(LoginFailed):
            exchange.step(final)


def plain(user: str) -> Callable[[], None]:
    token = f"\0{user}\0wrong horse".encode()

    def once() -> None:
        with pytest.raises(LoginFailed):
            start_exchange("PLAIN", CONFIG).step(token)

    return once


def scram(user: str) -> Callable[[], None]:
    """A SCRAM exchange whose final message has a wrong proof of the right length."""
    first = f"n,,n={user},r=abc".encode()

    def once() -> None:
        exchange = start_exchange("SCRAM-SHA-256", CONFIG)
        nonce = exchange.step(first).split(b",")[0]
        with pytest.raises(LoginFailed):
            exchange.step(b"c=biws," + nonce + b",p=" + b"A" * 43 + b"=")

    return once


@pytest.mark.parametrize("way", [plain, scram])
def test_the_response_time_does_not_show_which_users_exist(way: Callable[[str], Callable[[], None]]) -> None:
    """Checks that the same functions are called for existing and missing users; timing would be unreliable."""
    known, unknown = (calls(way(user)) for user in ("alice", "nobo1"))
    assert len(known) > 20
    assert known == unknown


def calls(once: Callable[[], None]) -> list[str]:
    """All functions called, of kconf and of libraries, in order."""
    seen: list[str] = []

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_qualname)
        elif event == "c_call":
            seen.append(getattr(argument, "__qualname__", ""))

    once()  # fills the caches
    gc.collect()
    gc.disable()  # finalizers of other tests' objects would be among the calls
    sys.setprofile(watch)
    try:
        once()
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen
