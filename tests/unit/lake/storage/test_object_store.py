"""A lake on an S3 server: queries, the lock of runs, and clear errors, without Spark."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kconf.cli.main import main
from kconf.errors import ConfigurationError
from kconf.lake.lookup import LakeTables
from kconf.lake.storage import lock
from kconf.lake.storage.location import LakeBusy, LakeError, located, spark_uri, storage_options
from kconf.lake.storage.lock import LakeLock
from kconf.lake.storage.object_store import open_store, size_below
from tests.cli.conftest import run_in_process
from tests.support.object_store import BUCKET, KEY_ID, SECRET, object_store, objects
from tests.support.small_lake import example

LAKE = f"s3://{BUCKET}/lake"


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    with object_store() as environment:
        yield environment


@pytest.fixture(autouse=True)
def environment(store: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.items():
        monkeypatch.setenv(name, value)


def test_a_lake_on_s3_is_queried_without_showing_credentials(store: dict[str, str]) -> None:
    example(LAKE)

    queried = run_in_process(main, ["lake", "sql", "SELECT value FROM history ORDER BY 1", "--lake", LAKE, "-o", "csv"])
    history = run_in_process(main, ["lake", "history", "topic:orders", "--lake", f"s3a://{BUCKET}/lake/"])
    status = run_in_process(main, ["pipeline", "status", "--lake", LAKE])

    assert (queried.status, queried.out.split()) == (0, ["value", "60000", "7"])
    assert "User:alice" in history.out
    assert "silver/history" in status.out
    told = "".join(each.out + each.err for each in (queried, history, status)).encode()
    written = b"".join(objects(store).values())
    assert [word for word in (KEY_ID, SECRET) if word.encode() in told + written] == []


_CONTENDER = """
import sys
from kconf.lake.storage import lock
from kconf.lake.storage.location import LakeBusy
from kconf.lake.storage.lock import LakeLock
locks = [LakeLock(f"{sys.argv[1]}-{number}") for number in range(5)]
for each in locks:
    each._store  # everything is loaded
print("ready", flush=True)
sys.stdin.readline()
for number, each in enumerate(locks):
    try:
        each.take()
    except LakeBusy:
        continue
    print(number)
"""


def test_one_of_several_processes_that_take_a_lock_at_once_gets_it() -> None:
    piped = subprocess.PIPE
    command = [sys.executable, "-c", _CONTENDER, f"{LAKE}-contended"]
    contenders = [subprocess.Popen(command, stdin=piped, stdout=piped, text=True) for _ in range(3)]
    for each in contenders:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in contenders:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()

    won = [number for each in contenders for number in each.communicate(timeout=280)[0].split()]

    assert sorted(won) == ["0", "1", "2", "3", "4"]


def test_the_error_of_a_second_run_names_the_run_that_has_the_lock(store: dict[str, str]) -> None:
    uri = f"{LAKE}-held"
    told = r"Another pipeline run \(process \d+ on .*\) is using s3://"
    with LakeLock(uri).held() as held:
        held.check()
        with pytest.raises(LakeBusy, match=told):
            LakeLock(uri).take()
    for _ in range(2):  # a released lock is free
        with LakeLock(uri).held() as held:
            held.renew()
            held.check()
    assert len([name for name in objects(store) if name.startswith("lake-held/_lock/")]) == 1


def test_a_lock_that_expired_is_taken_over_and_its_holder_stops() -> None:
    uri = f"{LAKE}-late"
    late = LakeLock(uri, lease=-1.0)
    late.take()
    with pytest.raises(LakeBusy, match="expired before it could be renewed"):
        late.check()
    other = LakeLock(uri)
    other.take()
    again = LakeLock(uri, lease=-1.0)
    again._number = 1

    again.renew()

    with pytest.raises(LakeBusy, match="Another pipeline run has taken over"):
        again.check()
    other.check()


class Clocks:
    """The clock of a machine, and the time since it was started, which nobody sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.elapsed = 1_000_000.0, 500.0
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "clock_gettime", lambda _: self.elapsed)


def test_a_lock_expires_although_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, held = Clocks(monkeypatch), LakeLock(f"{LAKE}-set-back")
    held.take()
    clocks.now, clocks.elapsed = clocks.now - 3600, clocks.elapsed + lock.LEASE + 1

    with pytest.raises(LakeBusy, match="expired before it could be renewed"):
        held.check()


def test_a_lock_that_expired_is_not_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may have seen that it expired, and be about to take it."""
    clocks, held = Clocks(monkeypatch), LakeLock(f"{LAKE}-renewed")
    held.take()
    clocks.now, clocks.elapsed = clocks.now + lock.LEASE + 1, clocks.elapsed + lock.LEASE + 1

    held.renew()

    with pytest.raises(LakeBusy, match="expired before it could be renewed"):
        held.check()
    LakeLock(f"{LAKE}-renewed").take()


def test_a_lock_that_was_lost_is_taken_again_unless_another_process_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, one, other = Clocks(monkeypatch), LakeLock(f"{LAKE}-again"), LakeLock(f"{LAKE}-again")
    one.take()
    for _ in range(2):
        clocks.now, clocks.elapsed = clocks.now + lock.LEASE + 1, clocks.elapsed + lock.LEASE + 1
        one.ensure()
        one.check()
    clocks.now, clocks.elapsed = clocks.now + lock.LEASE + 1, clocks.elapsed + lock.LEASE + 1
    other.take()

    with pytest.raises(LakeBusy, match=r"Another pipeline run .* is using"):
        one.ensure()

    other.release()
    one.ensure()
    one.check()


def test_a_lock_number_that_was_used_and_deleted_cannot_be_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"{LAKE}-slow"
    slow = LakeLock(uri)
    listed = slow._numbers

    def list_then_wait() -> list[int]:
        numbers = listed()
        monkeypatch.setattr(slow, "_numbers", listed)
        for _ in range(2):
            with LakeLock(uri).held():
                pass
        LakeLock(uri).take()
        return numbers

    monkeypatch.setattr(slow, "_numbers", list_then_wait)

    with pytest.raises(LakeBusy, match="has just begun"):
        slow.take()


def test_a_store_that_ignores_conditions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless:
        """A store that overwrites, whatever the condition."""

        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def put(self, path: str, contents: bytes, **_: object) -> object:
            return self._store.put(path, contents)

    careless = Careless(open_store(f"{LAKE}-careless"))
    monkeypatch.setattr("kconf.lake.storage.lock.open_store", lambda _: careless)

    with pytest.raises(LakeError, match="does not support conditional writes"):
        LakeLock(f"{LAKE}-careless").take()


def test_a_lake_in_a_bucket_that_does_not_exist_cannot_be_locked() -> None:
    with pytest.raises(LakeError, match="Cannot lock the lake s3://nowhere/lake: The specified bucket does not exist"):
        LakeLock("s3://nowhere/lake").take()
    with pytest.raises(LakeError, match="cannot read s3://nowhere/lake: The specified bucket does not exist"):
        size_below("s3://nowhere/lake", 1)


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        (f"s3://{KEY_ID}:{SECRET.replace('/', '')}@bucket/lake", "must not contain credentials"),
        (f"s3://{KEY_ID}@bucket/lake", "must not contain credentials"),
        ("http://bucket/lake", "http:// is not supported"),
        ("s3:///lake", "has no bucket"),
        ("s3://bucket/lake?x=1", "must not contain ? or #"),
    ],
)
def test_an_unusable_uri_is_reported_in_one_sentence(uri: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        located(uri)

    assert sentence in str(raised.value)
    assert "planted" not in str(raised.value)
    assert KEY_ID not in str(raised.value)


def test_a_bucket_that_does_not_exist_is_named_by_the_store() -> None:
    with pytest.raises(
        LakeError, match="cannot read the lake at s3://nowhere/lake: The specified bucket does not exist"
    ):
        LakeTables("s3://nowhere/lake")


def test_a_uri_without_tables_is_not_a_lake() -> None:
    with pytest.raises(LakeError, match="no lake at s3://"):
        LakeTables(f"{LAKE}-empty")


def test_deltalake_is_given_an_address_and_no_credentials(store: dict[str, str]) -> None:
    assert spark_uri(located("s3://b1/x/")) == "s3a://b1/x"
    assert spark_uri("/data/s3") == "/data/s3"
    assert located("abfss://container@account.dfs.core.windows.net/x") == (
        "abfss://container@account.dfs.core.windows.net/x"
    )
    assert storage_options(LAKE) == {"aws_endpoint_url": store["AWS_ENDPOINT_URL"], "aws_allow_http": "true"}
    assert storage_options("/data") == {}
