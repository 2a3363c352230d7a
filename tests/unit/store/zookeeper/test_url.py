"""The addresses of an ensemble, as a URL and in Kafka's format."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.store.zookeeper.url import ZookeeperUrl, store_url


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("localhost:2181", [("localhost", 2181)], ""),
        ("localhost", [("localhost", 2181)], ""),
        ("zk1:2181,zk2:2182/kafka/prod", [("zk1", 2181), ("zk2", 2182)], "/kafka/prod"),
        ("[::1]:2181/", [("::1", 2181)], ""),
        ("zookeeper://zk1:2181/kafka", [("zk1", 2181)], "/kafka"),
    ],
)
def test_kafkas_connect_string_and_the_url_name_the_same_store(
    text: str, hosts: list[tuple[str, int]], chroot: str
) -> None:
    found = ZookeeperUrl.parse(store_url(text))

    assert (list(found.hosts), found.chroot) == (hosts, chroot)


def test_the_url_of_another_store_is_not_changed() -> None:
    assert store_url("sqlite:///first.db") == "sqlite:///first.db"


@pytest.mark.parametrize("text", ["", "/kafka", "zk1:x", "zk1:2181,", "zk1:2181//kafka", "zk1:2181/../kafka"])
def test_an_invalid_connect_string_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        store_url(text)
