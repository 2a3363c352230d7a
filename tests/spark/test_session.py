"""The shared Spark session: its class archive, and its error messages. Other sessions: test_prepared.py."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from kconf.lake.storage.location import LakeError
from kconf.spark import runner, session
from kconf.spark.delta_tables import Lake
from kconf.spark.startup import class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_jvm_maps_the_class_archive_of_this_user_if_there_is_one(spark: SparkSession) -> None:
    """`make test` creates it first (`kconf pipeline prepare`)."""
    file = session.archive(session.check_java())
    process = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]  # a session has a JVM

    assert file is not None
    assert (str(file) in Path(f"/proc/{process}/maps").read_text()) == class_archive.is_ours(file)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "java.io.IOException: No space left on device",
            "The disk is full. The failed step did not change {lake}. Free some space.",
        ),
        (
            "io.delta.exceptions.ConcurrentAppendException: x",
            "Another run changed {lake} concurrently. Run the pipeline again.",
        ),
        ("java.io.IOException: x (Permission denied)", "Permission denied on the lake {lake} or its input."),
        ("[DIVIDE] no.\n== SQL ==\nselect", "Spark failed: [DIVIDE] no."),
    ],
)
def test_an_error_of_spark_is_reported_in_one_sentence(lake: Lake, message: str, sentence: str) -> None:
    """With a disk that is really full: test_full_disk.py."""
    with pytest.raises(LakeError) as raised, runner.plain_errors(lake):
        raise PySparkException(message)

    assert str(raised.value) == sentence.format(lake=lake.uri)


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("no answer")])
def test_a_jvm_that_has_ended_is_reported_in_one_sentence(
    lake: Lake, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """With a JVM that is really killed: test_follow_command.py."""
    with (
        pytest.raises(LakeError, match=r"^Spark's JVM ended unexpectedly\. .*run the pipeline again"),
        runner.plain_errors(lake),
    ):
        raise error

    try:
        raise error
    except type(error):
        logging.getLogger().exception("as py4j does")
    logging.getLogger().error("another")
    assert [each.message for each in caplog.records] == ["another"]
