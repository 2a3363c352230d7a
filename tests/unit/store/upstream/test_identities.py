"""Delegation tokens of a gateway's users: one per user, renewed in time, replaced if deleted, removed at the end."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.client.auth.sasl import Plain, Scram
from kconf.client.calls.base import Call
from kconf.client.calls.tokens import (
    CreateDelegationToken,
    DelegationToken,
    ExpireDelegationToken,
    RenewDelegationToken,
)
from kconf.client.settings import Address, Bootstrap, ClientSettings, SecuritySettings
from kconf.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    ErrorCode,
    KafkaError,
    RequestTimedOut,
)
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.results import Results
from kconf.store.upstream import identities as module
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.requests import UNAVAILABLE
from kconf.store.upstream.sender import DryRunSender, Sender

ACCOUNT = SecuritySettings(sasl=Plain("gateway", "secret"))
SETTINGS = ClientSettings(Bootstrap((Address("broker", 1),)), security=ACCOUNT)
HOUR = 3_600_000


class Cluster:
    """Creates tokens with a lifetime of an hour, up to three hours with renewals."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.events: list[str] = []
        self.tokens: dict[str, str | None] = {}  # ids and their owners
        self.renewers: dict[str, str | None] = {}
        self.removed: list[str] = []
        self.removal_failures: list[KafkaError] = []
        self.refusal: KafkaError | None = None
        self.on_refusal: Callable[[], None] = lambda: None
        self.timeouts: list[float] = []
        self.mechanisms: tuple[str, ...] = ("SCRAM-SHA-256", "SCRAM-SHA-512")

    def connect(self, settings: ClientSettings) -> Any:
        return Client(self, settings)

    def identities(self) -> Identities:
        return Identities(SETTINGS, connect=self.connect, clock=lambda: self.now)


class Client:
    def __init__(self, cluster: Cluster, settings: ClientSettings) -> None:
        sasl = settings.security.sasl
        assert isinstance(sasl, Scram | Plain)
        self._cluster, self.user, self._mechanism = cluster, sasl.username, sasl.mechanism
        self.is_closed = False

    def _send(self, call: Call[Any, Any, Any], timeout: float) -> Any:
        cluster = self._cluster
        cluster.timeouts.append(timeout)
        now = int(cluster.now * 1000)
        if isinstance(call, CreateDelegationToken):
            if cluster.refusal is not None:
                cluster.events.append("refuse")
                cluster.on_refusal()
                raise cluster.refusal
            id_ = f"token-{len(cluster.tokens)}"
            cluster.tokens[id_] = call._owner
            cluster.events.append(f"create {call._owner}")
            cluster.renewers[id_] = call._renewer
            return DelegationToken(id_, id_.encode(), now + HOUR, now + 3 * HOUR, call._owner or "User:gateway")
        if isinstance(call, RenewDelegationToken):
            cluster.events.append("renew")
            return now + HOUR
        if isinstance(call, ExpireDelegationToken):
            if cluster.removal_failures:
                raise cluster.removal_failures.pop()
            cluster.removed.append(call._hmac.decode())
            return now
        cluster.events.append(f"{cluster.tokens.get(self.user, self.user)} changes {len(call.items)}")
        return Results(dict.fromkeys(call.items))

    def describe_cluster(self, timeout: float) -> None:
        self._cluster.timeouts.append(timeout)
        if self._mechanism not in self._cluster.mechanisms:
            raise KafkaError.of(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
        if self.user not in self._cluster.tokens:
            raise AuthenticationFailed("unknown")

    def close(self) -> None:
        self.is_closed = True


def used(identities: Identities, principal: str, work: Callable[[Any], Any] = lambda client: client) -> Any:
    return identities.call(principal, work)


def finish_removals(identities: Identities) -> None:
    identities._removal._thread.submit(lambda: None).result()


def test_a_user_has_one_token_that_is_renewed() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    first = used(identities, "User:alice")
    assert used(identities, "User:alice") is first
    cluster.now += 0.8 * HOUR / 1000
    assert used(identities, "User:alice") is first
    assert cluster.events == ["create User:alice", "renew"]
    assert "token-0" in repr(identities._known["User:alice"].token)
    assert "hmac" not in repr(identities._known["User:alice"].token)


def test_a_token_at_the_end_of_its_life_is_replaced() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    first = used(identities, "User:alice")
    for _ in range(5):
        cluster.now += 0.8 * HOUR / 1000
        last = used(identities, "User:alice")
    finish_removals(identities)
    assert cluster.events.count("create User:alice") == 2
    assert (first.is_closed, last.is_closed) == (True, False)


def test_a_removed_token_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KNOWN_WITHIN", 5.0)
    cluster = Cluster()
    identities = cluster.identities()
    first = used(identities, "User:alice")
    identities._known["User:alice"].created -= 60
    tried = []

    def work(client: Any) -> Any:
        tried.append(client)
        if client is first:
            raise AuthenticationFailed("unknown")
        return client

    assert used(identities, "User:alice", work) is not first
    assert len(tried) == 2


def test_a_login_is_retried_until_the_broker_knows_the_new_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY", 0.0)
    cluster = Cluster()
    identities = cluster.identities()
    failures = [AuthenticationFailed("unknown")] * 3

    def work(client: Any) -> Any:
        if failures:
            raise failures.pop()
        return client

    used(identities, "User:alice", work)
    assert cluster.events == ["create User:alice"]


def test_other_connections_of_a_user_use_the_same_token() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    used(identities, "User:alice")
    first = identities.settings("User:alice")
    assert identities.settings("User:alice", failed=first) is first  # the broker does not know it yet
    identities._known["User:alice"].created -= 60
    assert identities.settings("User:alice") is first
    assert identities.settings("User:alice", failed=first) is not first
    assert cluster.events == ["create User:alice"] * 2


def test_the_least_recently_active_user_is_disconnected_and_keeps_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTED", 2)
    cluster = Cluster()
    identities = cluster.identities()
    clients = {name: used(identities, name) for name in ("User:a", "User:b")}
    used(identities, "User:a")
    used(identities, "User:c")
    assert [each.is_closed for each in clients.values()] == [False, True]
    again = used(identities, "User:b")
    assert (again.user, again.is_closed) == ("token-1", False)


def test_more_users_than_connections_have_one_token_each() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    users = [f"User:u{number}" for number in range(module.MAX_CONNECTED + 1)]
    for _ in range(3):
        for user in users:
            used(identities, user)
    assert sorted(cluster.tokens.values(), key=str) == sorted(users)
    assert cluster.removed == []


def test_the_connection_of_a_user_is_not_closed_during_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing it would wait for the response, and the other user would wait too."""
    monkeypatch.setattr(module, "MAX_CONNECTED", 1)
    identities = Cluster().identities()

    def meanwhile(client: Any) -> Any:
        others = [used(identities, name) for name in ("User:b", "User:c")]
        return client, client.is_closed, [each.is_closed for each in others]

    client, *closed = used(identities, "User:a", meanwhile)
    assert closed == [False, [True, False]]
    assert not client.is_closed


def test_the_token_of_the_least_recently_active_user_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOKENS", 2)
    cluster = Cluster()
    identities = cluster.identities()
    clients = [used(identities, name) for name in ("User:a", "User:b", "User:c")]
    finish_removals(identities)
    assert cluster.removed == ["token-0"]
    assert [each.is_closed for each in clients] == [True, False, False]


def test_all_tokens_are_removed_when_a_gateway_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY", 0.0)
    cluster = Cluster()
    cluster.removal_failures = [KafkaError.of(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)] * 3  # not known to the node yet
    identities = cluster.identities()
    identities.check()
    clients = [used(identities, name) for name in ("User:a", "User:b")]
    identities.close()
    assert sorted(cluster.removed) == ["token-0", "token-1", "token-2"]
    assert [each.is_closed for each in clients] == [True, True]
    with pytest.raises(ConnectionFailed, match="stopping"):
        used(identities, "User:a")
    assert cluster.renewers == {"token-0": None, "token-1": "User:gateway", "token-2": "User:gateway"}


def test_a_replaced_token_is_removed() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    used(identities, "User:alice")
    first = identities.settings("User:alice")
    identities._known["User:alice"].created -= 60
    identities.settings("User:alice", failed=first)
    finish_removals(identities)
    assert cluster.removed == ["token-0"]


def test_a_gateway_without_brokers_does_not_wait_for_each_token_when_it_stops(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    identities = cluster.identities()
    for name in ("User:a", "User:b", "User:c"):
        used(identities, name)
    cluster.removal_failures = [ConnectionFailed("gone")]
    identities._removal._deadline = 0.0
    identities.close()
    assert cluster.removed == []
    assert "3 delegation tokens were not removed" in caplog.text


def test_a_change_does_not_wait_for_a_validation_of_the_same_user() -> None:
    """A client sends one request at a time."""

    def itself(client: Any) -> Any:
        return client

    cluster = Cluster()
    identities = cluster.identities()
    validating = identities.call("User:alice", itself, validates=True)
    changing = used(identities, "User:alice")
    assert validating is not changing
    assert identities.call("User:alice", itself, validates=True) is validating
    assert [validating.user, changing.user] == ["token-0"] * 2
    identities.close()
    assert [validating.is_closed, changing.is_closed] == [True, True]


def test_a_change_is_validated_as_its_author() -> None:
    cluster = Cluster()
    validator = DryRunSender(SETTINGS, cluster.identities())
    assert validator.validate(pending("User:alice", "a")) == {}
    assert cluster.events == ["create User:alice", "User:alice changes 1"]


def test_tokens_log_in_by_a_mechanism_of_the_cluster() -> None:
    cluster = Cluster()
    cluster.mechanisms = ("SCRAM-SHA-256",)
    identities = cluster.identities()
    identities.check()
    assert identities._mechanism == "SCRAM-SHA-256"
    cluster.mechanisms = ()
    with pytest.raises(ConfigurationError, match="has no SCRAM mechanism"):
        cluster.identities().check()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "delegation.token.secret.key"),
        (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "must log in with SASL"),
        (ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, "CREATE_TOKENS"),
    ],
)
def test_a_refused_token_is_reported_with_the_missing_setting_or_right(code: ErrorCode, why: str) -> None:
    cluster = Cluster()
    cluster.refusal = ApiError(code).error()
    with pytest.raises(KafkaError, match=why) as refused:
        used(cluster.identities(), "User:alice")
    assert refused.value.code == code
    with pytest.raises(ConfigurationError, match=why):
        cluster.identities().check()


def pending(user: str, topic: str) -> PendingCommit:
    operation = ResourceAlterations(Resource.topic(topic), [AlterConfigOp(OpType.SET, "retention.ms", "1")])
    return PendingCommit(RequestContext(user), 0, (), {}, [operation])


def test_changes_are_merged_within_one_identity_only() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    sender = Sender(cluster.connect(SETTINGS), identities)
    batch = [pending("User:alice", "a"), pending("User:bob", "b"), pending("User:alice", "c"), pending("", "d")]
    assert not sender.send(batch).refused
    sender.close()
    changes = [each for each in cluster.events if "changes" in each]
    assert sorted(changes) == ["User:alice changes 2", "User:bob changes 1", "gateway changes 1"]


def test_a_user_without_a_token_fails_and_others_do_not() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    used(identities, "User:alice")
    cluster.refusal = ApiError(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED).error()
    sender = Sender(cluster.connect(SETTINGS), identities)
    refused = sender.send([pending("User:alice", "a"), pending("User:bob", "b")]).refused
    sender.close()
    assert {place: each.code for place, each in refused.items()} == {
        Resource.topic("b"): ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    }


def test_an_unexpected_error_of_one_user_does_not_hide_the_results_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    identities = cluster.identities()

    def call(principal: str, *words: Any, **more: Any) -> Any:
        if principal == "User:bob":
            raise ValueError("a bug in a login")
        return Identities.call(identities, principal, *words, **more)

    monkeypatch.setattr(identities, "call", call)
    sender = Sender(cluster.connect(SETTINGS), identities)
    sent = sender.send([pending("User:bob", "b"), pending("User:alice", "a")])
    sender.close()
    assert "User:alice changes 1" in cluster.events
    assert sent.refused.keys() == sent.unknown == {Resource.topic("b")}


def test_a_change_is_not_sent_if_the_creation_of_its_token_has_no_response() -> None:
    """Its outcome is not unknown."""
    cluster = Cluster()
    cluster.refusal = RequestTimedOut("no response to CreateDelegationToken")
    sender = Sender(cluster.connect(SETTINGS), cluster.identities())
    sent = sender.send([pending("User:alice", "a")])
    sender.close()
    assert (sent.refused, sent.unknown) == ({Resource.topic("a"): UNAVAILABLE}, set())


def test_waiting_for_a_token_ends_at_the_deadline_of_the_change() -> None:
    cluster = Cluster()
    identities = cluster.identities()
    with identities._active("User:alice") as identity, identity.lock, pytest.raises(RequestTimedOut) as late:
        identities.call("User:alice", lambda client: client, deadline=monotonic() + 0.01)
    assert not late.value.sent
    assert cluster.events == []
    identities.call("User:alice", lambda client: client, deadline=monotonic() + 5)
    assert len(cluster.timeouts) == 2
    assert max(cluster.timeouts) <= 5


def test_a_failure_to_create_a_token_is_shared_for_as_long_as_the_attempt_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise each change of this user would use up the time of the changes of other users."""
    now = monotonic() + 1e6

    def wait() -> None:
        nonlocal now
        now += 10

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    cluster = Cluster()
    cluster.refusal, cluster.on_refusal = RequestTimedOut("no response"), wait
    identities = cluster.identities()
    for _ in range(3):
        with pytest.raises(RequestTimedOut, match="no response"):
            used(identities, "User:alice")
    assert cluster.events == ["refuse"]
    now += 10
    cluster.refusal = None
    used(identities, "User:alice")
    assert cluster.events == ["refuse", "create User:alice"]
