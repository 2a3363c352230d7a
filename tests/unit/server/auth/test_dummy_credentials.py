"""Users that do not exist get plausible salts and iterations, with a realistic distribution and always the same."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from kconf.engine.access.scram_credentials import user_resource
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.scram import Mechanism
from kconf.model.snapshot import Snapshot
from kconf.security.scram import credential, to_text
from kconf.server.auth.dummy_credentials import DummyCredentials

SHA = Mechanism.SCRAM_SHA_256
KEY = b"k" * 32
JAVA = b"1qmhuw5r3o7iwmcs6ee7e0u5tn"  # like those of Kafka's tools


def set_(user: str, salt: bytes, iterations: int = 4096, before: str | None = None) -> Change:
    text = to_text(credential(SHA, b"x" * 32, salt, iterations))
    return Change(ChangeKind.CONFIG, user_resource(user), SHA.word, before, text, "set", sensitive=True)


def commit(dummies: DummyCredentials, *changes: Change) -> None:
    dummies.on_commit([Revision(1, 0, RequestContext(), changes)])


def shapes(dummies: DummyCredentials, names: range = range(1000)) -> Counter[tuple[int, int]]:
    made = (dummies.credential(SHA, f"nobody-{number}") for number in names)
    return Counter((len(each.salt), each.iterations) for each in made)


def test_without_users_unknown_names_get_the_salt_size_and_iterations_of_new_users() -> None:
    assert shapes(DummyCredentials(KEY)) == {(20, 4096): 1000}


def test_a_name_has_the_same_salt_on_every_server_with_the_same_key() -> None:
    one, other, elsewhere = (DummyCredentials(each).credential(SHA, "nobody") for each in (KEY, KEY, b"another"))
    assert one.salt == other.salt
    assert one.salt != elsewhere.salt
    assert one.stored_key != other.stored_key, "no password fits it"
    assert one.salt != DummyCredentials(KEY).credential(SHA, "nobody2").salt
    assert one.salt != DummyCredentials(KEY).credential(Mechanism.SCRAM_SHA_512, "nobody").salt


def test_dummy_credentials_have_the_same_distribution_as_real_ones() -> None:
    changes = [set_(f"a{number}", bytes(20)) for number in range(6)]
    changes += [set_(f"b{number}", bytes(32), 8192) for number in range(3)]
    changes += [set_("c", bytes(64), 16384)]
    dummies = DummyCredentials(KEY, Snapshot.EMPTY.apply(changes, 1))
    found = shapes(dummies)
    assert found.keys() == {(20, 4096), (32, 8192), (64, 16384)}
    assert 500 < found[20, 4096] < 700
    assert 200 < found[32, 8192] < 400
    assert 50 < found[64, 16384] < 150


def test_dummy_salts_have_the_form_of_javas_if_real_ones_have_it() -> None:
    dummies = DummyCredentials(KEY, Snapshot.EMPTY.apply([set_("alice", JAVA)], 1))
    salts = [dummies.credential(SHA, f"nobody-{number}").salt for number in range(500)]
    assert all(re.fullmatch(rb"[1-9a-z][0-9a-z]{20,25}", each) for each in salts)
    assert {len(each) for each in salts} >= {25, 26}
    assert {each[:1] for each in salts if len(each) == 26} == {b"1"}, "130 bits do not reach 2 × 36 ** 25"


def test_dummy_credentials_follow_changes_of_real_ones() -> None:
    dummies = DummyCredentials(KEY)
    first = set_("alice", bytes(24), 8192)
    commit(dummies, first)
    assert shapes(dummies) == {(24, 8192): 1000}
    second = set_("alice", bytes(28), 9000, before=first.after)
    commit(dummies, second)
    assert shapes(dummies) == {(28, 9000): 1000}
    commit(dummies, second._replace(before=second.after, after=None, op="delete"))
    assert shapes(dummies) == {(20, 4096): 1000}


def test_most_unknown_names_keep_their_salt_when_users_are_added() -> None:
    dummies = DummyCredentials(KEY)
    commit(dummies, *(set_(f"a{number}", bytes(20)) for number in range(50)))
    commit(dummies, *(set_(f"b{number}", bytes(32)) for number in range(50)))
    before = [dummies.credential(SHA, f"nobody-{number}").salt for number in range(1000)]
    commit(dummies, set_("c", bytes(32)))
    after = [dummies.credential(SHA, f"nobody-{number}").salt for number in range(1000)]
    moved = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert len(moved) < 30
    assert not any(other.startswith(one) for one, other in moved), "as after a change of password"


def test_unreadable_and_weak_keys_are_left_out() -> None:
    dummies = DummyCredentials(KEY)
    broken = set_("x", b"")._replace(after="not a credential")
    commit(dummies, broken, set_("y", bytes(7), 1000))
    assert shapes(dummies) == {(20, 4096): 1000}


@pytest.mark.parametrize("number", [1, 50])
def test_the_number_of_salt_shapes_is_limited(number: int) -> None:
    dummies = DummyCredentials(KEY)
    commit(dummies, *(set_(f"u{each}", bytes(8 + each)) for each in range(number)))
    assert 1 <= len(shapes(dummies)) <= 16


def test_the_repr_of_dummy_credentials_hides_the_key() -> None:
    assert "kkkk" not in repr(DummyCredentials(KEY))
