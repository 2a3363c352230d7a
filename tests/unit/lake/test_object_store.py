"""Queries of a lake on an S3 server, without Spark, and clear errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf.cli.main import main
from kconf.errors import ConfigurationError
from kconf.lake.location import LakeError, located, spark_uri, storage_options
from kconf.lake.lookup import LakeTables
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


def test_a_lake_on_s3_answers_like_one_on_a_disk(store: dict[str, str]) -> None:
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
def test_a_uri_that_cannot_be_used_has_a_sentence(uri: str, sentence: str) -> None:
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


def test_an_empty_place_is_no_lake() -> None:
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
