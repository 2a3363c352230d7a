"""The options of the Spark format `kconf`, checked before anything is connected."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.cloudpickle import dumps
from pyspark.sql.types import StructType

from kconf.errors import ConfigurationError
from kconf.lake.schemas import CHANGE_ROW, SNAPSHOT_LINE, ddl
from kconf.spark.source.data_source import KconfSource

SERVER = {"bootstrap.servers": "127.0.0.1:1"}
CHANGES = {**SERVER, "rows": "changes"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (SERVER, r'a stream has changes, not snapshots: add .option\("rows", "changes"\)'),
        ({**SERVER, "rows": "all"}, "rows must be snapshot or changes, not 'all'"),
        ({"rows": "changes"}, "requires bootstrap.servers, bootstrap.controllers, properties or context"),
        ({**CHANGES, "startingoffsets": "yesterday"}, "startingOffsets must be latest, earliest, a revision or"),
        ({**CHANGES, "startingoffsets": "\u0663"}, "startingOffsets must be latest, earliest, a revision or"),
        ({**CHANGES, "maxchangespertrigger": "0"}, "maxChangesPerTrigger must be a number from 1 to 1000000"),
        ({**CHANGES, "failondataloss": "perhaps"}, "failOnDataLoss must be true or false"),
        ({**CHANGES, "sasl.jaas.config": "planted"}, "has no option sasl.jaas.config; use bootstrap.servers"),
        ({**CHANGES, "partitions": "3"}, "has no option partitions"),
    ],
)
def test_wrong_options_of_a_stream_are_reported_in_one_sentence(options: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence) as raised:
        KconfSource(dict(options)).streamReader(StructType())

    assert "planted" not in str(raised.value)


def test_the_option_rows_determines_the_columns() -> None:
    assert KconfSource(CHANGES).schema() == ddl(CHANGE_ROW)
    assert KconfSource(SERVER).schema() == ddl(SNAPSHOT_LINE)


def test_readers_are_sent_to_workers_without_a_connection() -> None:
    source = KconfSource(CHANGES)

    assert dumps(source.streamReader(StructType()))  # type: ignore[no-untyped-call]
    assert dumps(source.reader(StructType()))  # type: ignore[no-untyped-call]
