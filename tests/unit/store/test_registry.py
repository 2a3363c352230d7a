"""Stores by URL, and the capabilities of each."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.security.value_cipher import NO_SECRETS
from kconf.store.base import InitialIdentity
from kconf.store.memory import MemoryStore
from kconf.store.registry import backend_of, backup_store, initialize_store, open_store
from kconf.store.sqlite.store import SqliteStore

IDENTITY = InitialIdentity("AAAAAAAAQACAAAAAAAAAAA", 2)


def test_the_url_scheme_determines_the_store(tmp_path: Path) -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
    with closing(open_store(f"sqlite:///{tmp_path}/kconf.db")) as store:
        assert isinstance(store, SqliteStore)


@pytest.mark.parametrize("url", ["", "kconf.db", "sqlite:kconf.db", "zookeeper:2181", "nowhere://localhost/kconf"])
def test_an_unknown_scheme_is_rejected_and_the_known_ones_are_named(url: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        open_store(url)
    assert str(raised.value) == f"unknown store {url!r}: use sqlite:///FILE or zookeeper://HOST:PORT/CHROOT"


def test_a_missing_package_is_reported_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith(("kazoo", "kconf.store.zookeeper"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kazoo", None)
    with pytest.raises(ConfigurationError, match=r"requires the package kazoo: pip install 'kconf\[zookeeper\]'"):
        open_store("zookeeper://127.0.0.1:1/kconf")


def test_only_some_stores_can_be_the_target_of_a_copy(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot copy to 'memory:'"):
        initialize_store("memory:", IDENTITY, NO_SECRETS)
    url = f"sqlite:///{tmp_path}/copy.db"
    with initialize_store(url, IDENTITY, NO_SECRETS) as store:
        assert (store.cluster_id, store.epoch) == IDENTITY
    assert (tmp_path / "copy.db").exists()


def test_only_some_stores_can_be_backed_up_to_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot back up 'zookeeper://"):
        backup_store("zookeeper://127.0.0.1:1/kconf", tmp_path / "copy.db")


def test_the_journal_is_limited_by_default_in_zookeeper_but_not_in_a_file() -> None:
    assert backend_of("zookeeper://127.0.0.1:2181/kconf").bounded_journal
    assert not backend_of("sqlite:///kconf.db").bounded_journal
