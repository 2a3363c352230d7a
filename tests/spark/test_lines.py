"""Lines of an archive: which are accepted, which are quarantined and why, and that no secret is stored."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kconf.configdef.catalog import kafka_43
from kconf.configdef.validate import normalize
from kconf.lake.schemas import ATTEMPTS, JOURNAL, QUARANTINE
from kconf.spark import bronze, silver
from kconf.spark.delta_tables import Lake, local
from kconf.spark.transforms import lines, values
from tests.spark.journals import journals
from tests.support.secrets import assert_nowhere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET = "hunter2-hunter2-hunter2"
HASH = "hmac:" + "ab" * 32


def attempt(number: int) -> dict[str, Any]:
    who = {"principal": "User:eve", "client_id": "x", "host": "127.0.0.1", "api": "AlterConfigs", "request_id": 1}
    about = {
        "resource_type": "topic",
        "resource_name": "orders",
        "keys": ["retention.ms"],
        "error": 40,
        "dry_run": False,
    }
    return {"format": 1, "cluster": "c", "epoch": 1, "number": number, "revision": 3, "time": 1, **who, **about}


def test_invalid_lines_are_quarantined_with_the_reason(lake: Lake, tmp_path: Path) -> None:
    (journal,) = journals(1, 5)
    good = journal.lines[0]
    secret = {"resource_type": "broker", "resource_name": "1", "key": "ssl.key.password"}
    bare = {**good, **secret, "after": SECRET, "sensitive": True}
    wrong = {
        "cut": (json.dumps(good)[:-20], "not a complete JSON object with the fields of a line"),
        "typed": (
            json.dumps({**good, "revision": "seven"}),
            "not a complete JSON object with the fields of a line",
        ),
        "newer": (json.dumps({**good, "format": 2}), "written by a newer version of kconf, in an unknown format"),
        "short": (json.dumps({**good, "resource_name": None}), "the field resource_name is missing"),
        "kind": (json.dumps({**good, "kind": "requested"}), "its kind is unknown"),
        "open": (json.dumps(bare), "it contains a secret that is not hashed"),
        "unmarked": (json.dumps({**good, **secret, "after": SECRET}), "it contains a secret that is not hashed"),
        "cut and open": (json.dumps(bare)[:-20], "not a complete JSON object with the fields of a line"),
        "newer and open": (
            json.dumps({**bare, "format": 2}),
            "written by a newer version of kconf, in an unknown format",
        ),
        "cut, of an unknown key": (
            json.dumps({"key": "my.own.token", "before": 'a\\"b', "after": SECRET})[:-5],
            "not a complete JSON object with the fields of a line",
        ),
        "unmarked, of an unknown key": (
            json.dumps({**good, **secret, "key": "my.own.token", "after": SECRET, "sensitive": None}),
            "the field sensitive is missing",
        ),
        "short and open": (json.dumps({**bare, "principal": None}), "the field principal is missing"),
    }
    sealed = {**good, **secret, "revision": 99, "after": HASH, "sensitive": True}
    taken = [json.dumps(each) for each in (good, good, sealed, attempt(1), attempt(1), attempt(2))]
    (tmp_path / "archive" / "c").mkdir(parents=True)
    text = "\n".join([*taken, "", *(line for line, _ in wrong.values())])
    (tmp_path / "archive" / "c" / "1.jsonl").write_text(text)
    (tmp_path / "archive" / "c" / "2.jsonl").write_bytes(b"\xff\xfe\x00 no text at all")
    wrong["no text"] = ("\ufffd\ufffd\0 no text at all", "not a complete JSON object with the fields of a line")
    result = bronze.Read()

    bronze.read_archive(lake, str(tmp_path / "archive"), silver.next_round(lake), result)

    assert result.counts == {"journal": 2, "attempts": 2, "quarantined": len(wrong), "facts": 0}
    assert (lake.read(JOURNAL).count(), lake.read(ATTEMPTS).count()) == (2, 2)
    told = sorted((row["reason"], row["line"]) for row in lake.read(QUARANTINE).collect())
    hidden = {name for name in wrong if "open" in name or name == "unmarked"}
    kept = {name: "[hidden]" if name in hidden else without_values(line) for name, (line, _) in wrong.items()}
    assert told == sorted((why, kept[name]) for name, (_, why) in wrong.items())
    assert kept["cut, of an unknown key"] == '{"key": "my.own.token", "before": "[hidden]", "after": "[hidden]"'
    assert_nowhere(tmp_path / "lake", [SECRET[:-5]])


def without_values(line: str) -> str:
    """A line as stored in the quarantine."""
    return re.sub(r'"(before|after)": "(\\.|[^"\\])*"?', r'"\1": "[hidden]"', line)


def test_values_are_normalized_in_spark_as_by_kafka(spark: SparkSession) -> None:
    """Every key with every text, compared with the output of describe."""
    texts = [
        "",
        " 7 ",
        "+7",
        "-1",
        "1.50",
        "1e3",
        "TRUE",
        " false",
        "maybe",
        "a, b ,a",
        ",",
        "delete,compact",
        "\tx\n",
        "12x",
    ]
    keys = {
        (kind, key.name): key
        for kind, table in (("topic", kafka_43().topic), ("broker", kafka_43().broker), ("group", kafka_43().group))
        for key in table.values()
    }
    rows = local(spark, values.keys(kafka_43()), values.KEYS)
    given = local(spark, [{"text": each} for each in texts], "text string")
    from pyspark.sql import functions as F

    printed = values.normalised(F.col("text"), F.col("type"), F.col("distinct"))
    told = rows.crossJoin(given).select("resource_type", "key", "text", printed.alias("printed")).collect()
    wrong = [
        (row["key"], row["text"], row["printed"], expected)
        for row in told
        if (key := keys.get((row["resource_type"], row["key"]))) is not None
        if row["printed"] != (expected := normalize(key, row["text"]))
    ]
    assert wrong == []
    assert len(told) > 1000


def test_a_corrected_line_with_another_value_is_quarantined(lake: Lake, tmp_path: Path) -> None:
    """The first value counts, as for readers of the archive; the second one is not dropped silently."""
    (journal,) = journals(1, 0)
    made = [*journal.create("orders"), *journal.set("topic", "orders", "retention.ms", "1")]
    place = tmp_path / "archive" / "1.jsonl"
    place.parent.mkdir()
    found = []
    for value, reason in (("1", "ticket 7"), ("2", "ticket 7"), ("2", "ticket  7"), ("1", "ticket   7")):
        last = {**made[1], "after": value, "reason": reason}
        place.write_text("".join(f"{json.dumps(each)}\n" for each in (made[0], last)))
        result = bronze.Read()
        bronze.read_archive(lake, str(tmp_path / "archive"), silver.next_round(lake), result)
        found.append((result.journal, result.quarantined))

    assert found == [(2, 0), (0, 1), (0, 1), (0, 0)]
    rows = lake.read(QUARANTINE).collect()
    assert {row["reason"] for row in rows} == {lines.OTHER_VALUE}
    assert all('"after": "[hidden]"' in row["line"] for row in rows)
    assert [row["after"] for row in lake.read(JOURNAL).where("key = 'retention.ms'").collect()] == ["1"]


def test_lines_of_one_number_with_other_values_are_found(spark: SparkSession) -> None:
    name = ("cluster", "revision")
    schema = (
        "cluster string, revision bigint, after string, sensitive boolean, kind string, origin string,"
        " principal string, reason string, file string, fault string"
    )

    def line(revision: int, after: str | None, file: str, **more: Any) -> dict[str, Any]:
        told = {"kind": "config", "origin": "kconf", "sensitive": False, "principal": "User:ann", "file": file}
        return {"cluster": "c", "revision": revision, "after": after, **told, **more}

    new = [
        *(line(1, "a", "same"), line(2, "b", "other"), line(3, None, "removed"), line(9, "x", "new")),
        *(line(4, "b", "second"), line(4, "a", "first"), line(4, "a", "third")),
        *(line(5, "b", "secret", sensitive=True), line(6, "b", "topic", kind="topic", origin="log")),
        line(7, "b", "server's topic", kind="topic"),
    ]
    stored = [line(revision, "a", "stored") for revision in (1, 2, 3, 5, 6, 7)]

    found = lines.contradicting(local(spark, new, schema), local(spark, stored, schema), name)

    assert {(row["file"], row["fault"]) for row in found.collect()} == {
        (file, lines.OTHER_VALUE) for file in ("other", "removed", "second", "server's topic")
    }
