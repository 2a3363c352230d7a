"""The tokens of a login: renewed before they expire, and deleted with the session."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.console.security.oidc.http import ProviderRefused
from kconf.console.security.oidc.id_token import Person
from kconf.console.security.oidc.provider import Provider
from kconf.console.security.oidc.tokens import PersonTokens
from kconf.errors import AuthenticationFailed, ConnectionFailed
from tests.unit.console.oidc.world import ACCESS, REFRESH, FakeHttp, settings


class World:
    """Tokens for 300 s, and a clock."""

    def __init__(self, **more: Any) -> None:
        import time

        self.http = FakeHttp()
        self.start = self.now = time.time()
        provider = Provider(settings(**more), self.http)
        self.tokens = PersonTokens(provider, Person("id-1", "ana"), provider.tokens({}), lambda: self.now)

    def renewed(self) -> list[str]:
        forms = [form for _, form, _ in self.http.posted]
        return [each["refresh_token"] for each in forms if each.get("grant_type") == "refresh_token"]


def test_a_token_is_used_until_shortly_before_its_end_and_then_renewed() -> None:
    world = World()
    world.now += 230
    assert world.tokens() == ACCESS
    assert world.renewed() == []
    world.http.answer = {"access_token": "access-token-2", "refresh_token": "refresh-token-2", "id_token": None}
    world.now += 20
    assert world.tokens() == "access-token-2"
    assert world.tokens() == "access-token-2"
    assert world.renewed() == [REFRESH]
    world.now += 300
    world.tokens()
    assert world.renewed() == [REFRESH, "refresh-token-2"]


def test_a_refresh_token_stays_valid_if_the_provider_sends_no_new_one() -> None:
    world = World()
    world.http.answer = {"refresh_token": None, "id_token": None}
    for _ in range(2):
        world.now += 300
        world.tokens()
    assert world.renewed() == [REFRESH, REFRESH]


def test_while_the_provider_is_unreachable_a_token_is_used_until_it_expires() -> None:
    world = World()
    world.http.is_unreachable = True
    world.now += 270
    assert world.tokens() == ACCESS
    world.now += 40
    with pytest.raises(ConnectionFailed, match="cannot be reached to renew your login"):
        world.tokens()
    assert world.tokens.can_act
    world.http.is_unreachable = False
    world.now += 10
    assert world.tokens() == ACCESS


def test_a_login_ends_if_the_provider_refuses_the_refresh_token() -> None:
    world = World()
    world.http.answer = ProviderRefused("refused", "invalid_grant")
    world.now += 300
    for _ in range(2):
        with pytest.raises(AuthenticationFailed, match="has ended; log in again"):
            world.tokens()
    assert world.tokens.has_ended
    assert len(world.renewed()) == 1


@pytest.mark.parametrize("claims", [{"sub": "id-2"}, {"groups": []}, {"iss": "https://evil.test"}], ids=str)
def test_a_renewal_with_an_id_token_of_another_or_excluded_person_ends_the_login(claims: dict[str, Any]) -> None:
    world = World(required={"groups": ("staff",)})
    world.http.claims = {"groups": ["staff"], **claims}
    world.now += 300
    with pytest.raises(AuthenticationFailed):
        world.tokens()
    assert world.tokens.has_ended


def test_without_a_refresh_token_a_person_can_make_changes_until_the_token_expires() -> None:
    http = FakeHttp()
    http.answer = {"refresh_token": None}
    provider = Provider(settings(), http)
    now = [0.0]
    tokens = PersonTokens(provider, Person("id-1", "ana"), provider.tokens({}), lambda: now[0])
    assert tokens() == ACCESS
    now[0] = 301.0
    with pytest.raises(AuthenticationFailed):
        tokens()
    assert not tokens.can_act
    assert not tokens.has_ended  # the person can still read


def test_tokens_are_deleted_with_the_session() -> None:
    world = World()
    world.tokens.end()
    with pytest.raises(AuthenticationFailed):
        world.tokens()
    assert (world.tokens._access, world.tokens._refresh) == ("", None)


def test_no_repr_shows_a_token() -> None:
    world = World()
    assert ACCESS not in repr(world.tokens)
    assert ACCESS not in repr(Provider(settings(), world.http).tokens({}))
