"""One-time preparation: downloads Delta Lake's jars and archives the JVM's classes.

To find the classes that a run needs, it does a run on a tiny archive with examples of everything, and deletes the
output.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from kconf.errors import KconfError
from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext, Revision
from kconf.model.lines.journal import FORMAT, attempt_line, change_lines
from kconf.model.resource import Resource, ResourceType
from kconf.spark import session
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import Say, run
from kconf.spark.startup import cache, class_archive, s3_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLUSTER, _ANOTHER = "a-cluster-of-no-one-00", "another-of-no-one-0000"
_WHO: Final = RequestContext("User:nobody", "kconf", "localhost", "IncrementalAlterConfigs", 1, "to see how it goes")
_TOPIC: Final = '{"id":"AAAAAAAAAAAAAAAAAAAAAQ","replicas":[[1]]}'
_RULES: Final = """
rules:
  - {id: a-day, selector: topic, key: retention.ms, condition: {min: 1d}}
"""
_DECLARED: Final = """
version: 1
topics:
  one: {partitions: 1, replication: 1, configs: {retention.ms: 1h}}
"""


class NotPrepared(KconfError):
    """The class archive could not be created; the message has the reason."""


def prepare(log: Path | None, say: Say, *, s3: bool = False) -> Path:
    """Prepare later starts, unless already done. Returns the class archive."""
    java = session.check_java()
    if not class_archive.fits(cache.directory()):
        raise NotPrepared(
            f"The path of the cache directory, {cache.directory()}, contains characters that are not allowed in a Java"
            " option. Set XDG_CACHE_HOME to another directory."
        )
    if not session.delta_is_downloaded() or (s3 and not s3_jars.are_downloaded()):
        say("downloading jars …")
        session.stop(session.start("local[1]", log=log, s3=s3))
    if s3 and not s3_jars.are_downloaded():
        raise NotPrepared(f"Spark did not store the jars for S3 in {cache.ivy()}; see {log or session.default_log()}")
    file = session.archive(java)
    if file is None:
        raise NotPrepared(f"Spark did not store Delta Lake's jars in {cache.ivy()}; see {log or session.default_log()}")
    if not class_archive.is_ours(file):
        try:
            make(file, log or session.default_log(), say, rehearse)
        except OSError as error:
            raise NotPrepared(f"{file.parent} cannot be written: {error.strerror}.") from None
    return file


def make(file: Path, log: Path, say: Say, work: Callable[[Path, SparkSession, Say], None]) -> None:
    """Archive the classes that a task loads, in a temporary file first: of two concurrent processes the last
    one wins."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=class_archive.MAKING, dir=file.parent) as there:
        made = Path(there, file.name)
        started = session.start("local[2]", log=log, quick=True, record=made)
        try:
            work(Path(there), started, say)
        finally:
            say("archiving classes …")
            session.stop(started)
        if not made.is_file():
            raise NotPrepared(f"Java did not create a class archive; see its log: {log}")
        made.replace(file)
    with suppress(FileNotFoundError):  # another process was faster
        for old in class_archive.obsolete(file):
            shutil.rmtree(old) if old.is_dir() else old.unlink()


def rehearse(there: Path, spark: SparkSession, say: Say) -> None:
    """Run the pipeline on a few lines, once as a small lake and once not, to load the classes that a run needs. An
    incremental run would load hardly any other classes."""
    (there / "rules.yaml").write_text(_RULES)
    (there / "declared.yaml").write_text(_DECLARED)
    _write(there / "archive" / "1.jsonl", [*_changes(), attempt_line(_CLUSTER, 1, _attempt())])
    _write(there / "snapshots" / "1.jsonl", _snapshot())
    sources = Sources([str(there / "archive")], [str(there / "snapshots")])
    inputs = Inputs([there / "declared.yaml"], there / "rules.yaml")
    say("starting two small runs to load the classes that a run needs …")
    for little in (True, False):
        run(Lake(str(there / f"lake-{little}"), spark, little=little), sources, inputs, _silent)


def _silent(_: str) -> None:
    pass


def _write(file: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _changes() -> Iterator[Mapping[str, Any]]:
    """A revision that creates a topic and sets a value of each kind, and an invalid line."""
    topic, quota = Resource.topic("one"), Resource(ResourceType.QUOTA, '{"user":"nobody"}')
    changes = (
        Change(ChangeKind.TOPIC, topic, "", None, _TOPIC, "create"),
        Change(ChangeKind.CONFIG, topic, "retention.ms", None, "60000", "set"),
        Change(ChangeKind.CONFIG, Resource.brokers(), "log.retention.ms", None, "1", "set"),
        Change(ChangeKind.CONFIG, quota, "producer_byte_rate", None, "1", "set"),
    )
    yield from change_lines(_CLUSTER, 1, Revision(1, 1000, _WHO, changes))
    yield {"this": "is none"}


def _attempt() -> AuditEntry:
    return AuditEntry(1000, _WHO, 1, Resource.topic("one"), ["retention.ms"], code=40, dry_run=False, number=1)


def _snapshot() -> list[Mapping[str, Any]]:
    """A file of `kconf snapshot` for another cluster."""
    broker = {"kind": "config", "resource_type": "broker", "resource_name": "1", "key": "num.io.threads"}
    return [
        {"kind": "snapshot", "format": FORMAT, "cluster": _ANOTHER, "started": 1000, "taken": 1001, "missing": []},
        {"kind": "topic", "name": "one", "id": "A", "partitions": 1, "replication": 1, "internal": False},
        {**broker, "value": "8", "source": "STATIC_BROKER_CONFIG", "sensitive": False, "read_only": True},
        {"kind": "quota", "entity": {"user": "nobody"}, "key": "producer_byte_rate", "value": 1.0},
        {"kind": "end", "lines": 4},
    ]
