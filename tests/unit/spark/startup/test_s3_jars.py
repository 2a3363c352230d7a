"""Spark's settings for S3: jars only where they are needed, and never a credential."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.spark import session
from kconf.spark.startup import cache, s3_jars

SECRET = "planted/s3+secret"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "XDG_CACHE_HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": SECRET,
        "AWS_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)


def downloaded(jars: Sequence[Path]) -> None:
    (cache.ivy() / "jars").mkdir(parents=True, exist_ok=True)
    for each in jars:
        each.touch()


def test_jars_are_downloaded_once_and_then_used_as_files() -> None:
    ours = session._settings("local[2]", False, "")
    first = s3_jars.with_s3(ours)
    downloaded([*session._jars(), *s3_jars.jars()])
    later = s3_jars.with_s3(session._settings("local[2]", False, ""))
    elsewhere = s3_jars.with_s3(session._settings("spark://host:7077", False, ""))

    assert first["spark.jars.packages"].startswith("io.delta:delta-spark_")
    assert "org.apache.hadoop:hadoop-aws:3.5.0" in first["spark.jars.packages"].split(",")
    assert "software.amazon.awssdk:bundle" in first["spark.jars.excludes"].split(",")
    assert "spark.jars.packages" not in later
    assert f"local:{cache.ivy()}/jars/org.apache.hadoop_hadoop-aws-3.5.0.jar" in later["spark.jars"].split(",")
    sent = elsewhere["spark.jars"].split(",")
    assert f"{cache.ivy()}/jars/org.apache.hadoop_hadoop-aws-3.5.0.jar" in sent
    assert len(sent) == len(session._jars()) + len(s3_jars.jars())


def test_a_session_for_local_paths_has_no_jars_for_s3() -> None:
    downloaded([*session._jars(), *s3_jars.jars()])

    assert "hadoop-aws" not in str(session._settings("local[2]", False, ""))


def test_jars_of_the_user_are_added_to_those_of_kconf() -> None:
    ours = {"spark.jars.packages": "a:b:1", "spark.ui.enabled": "false"}
    theirs = {"spark.jars.packages": "c:d:2", "spark.jars": "/e.jar", "spark.ui.enabled": "true"}

    assert session._with_theirs(ours, theirs) == {
        "spark.jars.packages": "a:b:1,c:d:2",
        "spark.jars": "/e.jar",
        "spark.ui.enabled": "true",
    }


def test_spark_gets_the_s3_address_and_no_credentials() -> None:
    settings = s3_jars.with_s3({"spark.master": "local[2]"})

    assert settings["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9000"
    assert settings["spark.hadoop.fs.s3a.endpoint.region"] == "eu-central-1"
    assert settings["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert SECRET not in str(settings)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_address_with_a_password_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, f"http://user:{SECRET}@store:9000")

    with pytest.raises(ConfigurationError, match=f"^{variable} must not contain credentials") as raised:
        s3_jars.with_s3({"spark.master": "local[2]"})

    assert SECRET not in str(raised.value)
