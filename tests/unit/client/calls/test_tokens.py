"""Delegation tokens: what is requested, and what a broker returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kconf import KafkaError, SyncAdminClient
from kconf.client.calls.tokens import (
    CreateDelegationToken,
    DelegationToken,
    ExpireDelegationToken,
    RenewDelegationToken,
)
from kconf.errors import ErrorCode
from kconf.protocol.apis import BY_NAME
from kconf.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from kconf.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kconf.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from tests.unit.client.fake import FakeBroker

TOKEN = DelegationToken("id-1", b"secret-hmac", 2000, 9000, "User:alice")


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    names = ("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken")
    with FakeBroker() as made:
        made.versions |= {BY_NAME[name].key: (BY_NAME[name].min, BY_NAME[name].max) for name in names}
        yield made


def sent(broker: FakeBroker, call: Any) -> Any:
    with SyncAdminClient(broker.address) as client:
        return client._send(call)


@pytest.mark.parametrize(
    ("owner", "named"), [("User:alice", ("User", "alice")), ("User:a:b", ("User", "a:b")), (None, (None, None))]
)
def test_a_token_is_created_for_its_owner(
    broker: FakeBroker, owner: str | None, named: tuple[str | None, str | None]
) -> None:
    answer = CreateDelegationTokenResponse(0, "User", "alice", "User", "gw", 1000, 2000, 9000, "id-1", b"secret-hmac")
    broker.handlers["CreateDelegationToken"] = lambda *_: answer

    assert sent(broker, CreateDelegationToken(owner, 5000)) == TOKEN
    (asked,) = broker.requests
    assert (asked.owner_principal_type, asked.owner_principal_name, asked.max_lifetime_ms) == (*named, 5000)


def test_a_token_has_a_renewer(broker: FakeBroker) -> None:
    broker.handlers["CreateDelegationToken"] = lambda *_: CreateDelegationTokenResponse(0)

    sent(broker, CreateDelegationToken("User:alice", renewer="User:a:b"))
    (asked,) = broker.requests
    assert [(each.principal_type, each.principal_name) for each in asked.renewers] == [("User", "a:b")]


def test_a_token_is_renewed_by_its_hmac_for_the_period_of_the_broker(broker: FakeBroker) -> None:
    broker.handlers["RenewDelegationToken"] = lambda *_: RenewDelegationTokenResponse(0, 3000)

    assert sent(broker, RenewDelegationToken(TOKEN)) == 3000
    (asked,) = broker.requests
    assert (asked.hmac, asked.renew_period_ms) == (b"secret-hmac", -1)


def test_a_token_is_removed_by_its_hmac_at_once(broker: FakeBroker) -> None:
    broker.handlers["ExpireDelegationToken"] = lambda *_: ExpireDelegationTokenResponse(0, 3000)

    assert sent(broker, ExpireDelegationToken(TOKEN)) == 3000
    (asked,) = broker.requests
    assert (asked.hmac, asked.expiry_time_period_ms) == (b"secret-hmac", -1)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (CreateDelegationToken(None), CreateDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)),
        (RenewDelegationToken(TOKEN), RenewDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)),
        (ExpireDelegationToken(TOKEN), ExpireDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)),
    ],
)
def test_a_refusal_is_an_error(broker: FakeBroker, call: Any, answer: Any) -> None:
    broker.handlers[call.name] = lambda *_: answer

    with pytest.raises(KafkaError) as raised:
        sent(broker, call)
    assert raised.value.code is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_a_token_is_used_as_a_password_and_not_shown() -> None:
    assert TOKEN.password == "c2VjcmV0LWhtYWM="
    assert "secret" not in repr(TOKEN)
