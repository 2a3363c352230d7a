"""The SCRAM credentials of the cluster behind a gateway."""

from __future__ import annotations

import pickle

import pytest

from kconf.engine.access.scram_credentials import user_resource
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.scram import Credential, Mechanism
from kconf.security.scram import credential, from_text
from kconf.server.auth.upstream_credentials import UpstreamCredentials, UpstreamDummyCredentials

SHA = Mechanism.SCRAM_SHA_256
ALICE = ("alice", SHA)


def made(size: int, iterations: int = 4096) -> Credential:
    return credential(SHA, b"x" * 32, bytes(size), iterations)


def test_a_credential_exists_until_it_is_removed() -> None:
    credentials = UpstreamCredentials()
    credentials.put(ALICE, made(20))
    assert from_text(credentials.text(*ALICE) or "") == made(20)
    assert credentials.text("alice", Mechanism.SCRAM_SHA_512) is None
    credentials.put(ALICE, None)
    credentials.put(ALICE, None)
    assert credentials.text(*ALICE) is None


def test_replace_removes_all_previous_credentials() -> None:
    credentials = UpstreamCredentials()
    credentials.put(ALICE, made(20))
    credentials.replace({("bob", SHA): made(30)})
    assert credentials.names() == [("bob", SHA)]


def test_credentials_are_neither_printed_nor_pickled() -> None:
    credentials = UpstreamCredentials()
    credentials.put(ALICE, made(20))
    assert repr(credentials) == "UpstreamCredentials([hidden])"
    with pytest.raises(TypeError):
        pickle.dumps(credentials)


def test_unknown_users_get_credentials_like_those_of_real_users() -> None:
    credentials = UpstreamCredentials()
    credentials.put(ALICE, made(33, 8192))
    dummies = UpstreamDummyCredentials(b"k" * 32, credentials)

    def shape() -> tuple[int, int]:
        found = dummies.credential(SHA, "nobody")
        return len(found.salt), found.iterations

    assert shape() == (33, 8192)
    credentials.put(ALICE, made(40, 5000))
    change = Change(ChangeKind.CONFIG, user_resource("alice"), SHA.word, "", "iterations=5000 log:7", "set", True)
    for _ in range(2):  # as often as it is reported
        dummies.on_commit([Revision(7, 0, RequestContext(""), (change,))])
    assert shape() == (40, 5000)
    credentials.put(ALICE, None)
    dummies.on_commit([Revision(8, 0, RequestContext(""), (change._replace(after=None, op="delete"),))])
    assert shape() == (20, 4096)
