"""The Spark session with Delta Lake, and its JVM: jars, memory, logging.

The jars are downloaded once by Spark's own resolver; what Spark ships itself is excluded. The JVM logs to a file, so
that users see only the pipeline's own output. The Spark master comes only from the caller.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kconf.errors import KconfError
from kconf.spark.startup import cache, class_archive, s3_jars
from kconf.spark.startup.credentials import REDACTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
LOCAL: Final = "local[*]"
_DELTA: Final = "4.4.0"
_SPARK: Final = "4.2"
_SHIPPED: Final = (  # shipped with Spark: other versions would conflict
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.core:jackson-core",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8",
    "com.google.code.findbugs:jsr305",
    "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.logging.log4j:log4j-api",
    "org.apache.logging.log4j:log4j-core",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
    "org.apache.parquet:parquet-hadoop",
    "org.locationtech.jts:jts-core",
    "org.roaringbitmap:RoaringBitmap",
    "org.scala-lang:scala-library",
    "org.slf4j:slf4j-api",
)
_JARS: Final = tuple(
    f"io.delta_{name}-{_DELTA}.jar"
    for name in (
        f"delta-spark_{_SPARK}_2.13",
        "delta-storage",
        "delta-kernel-api",
        "delta-kernel-defaults",
        "delta-kernel-unitycatalog",
    )
)
_LISTS: Final = ("spark.jars", "spark.jars.packages", "spark.jars.excludes")

_JVM: Final = "-XX:+UseParallelGC -XX:-DontCompileHugeMethods"  # the code that Spark generates for wide tables is huge
_QUICK_JVM: Final = "-XX:+UseSerialGC -Xms1g -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_QUICK: Final = {
    # otherwise each sort and each aggregate allocates and clears 64 MB, even for a few rows
    "spark.buffer.pageSize": "1m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_FEW: Final = ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")
_SMALL_AND_FEW: Final = (*_FEW, "spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")


class SparkUnavailable(KconfError):
    """Spark cannot be started; the message explains what is missing."""


def start(
    master: str = LOCAL,
    *,
    log: Path | None = None,
    quick: bool = False,
    settings: dict[str, str] | None = None,
    record: Path | None = None,
    s3: bool = False,
) -> SparkSession:
    """The session of this process, started if needed. `settings` are Spark settings and override ours.

    `s3` is for lakes and archives on S3: Spark gets hadoop-aws and modules of the AWS SDK, downloaded at the first use.
    `quick` is for small inputs: most of a short run is compilation, so the JVM uses only its first compiler and Spark
    interprets its plans. `record` is a file to which the JVM writes an archive of all loaded classes.
    """
    check_pyspark()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    java = check_java()
    _make_cache(s3)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise Spark uses the first python3 on the PATH
    file = log or default_log()
    file.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf(loadDefaults=False)
    ours = _settings(master, quick, _sharing(java, record))
    conf.setAll(list(_with_theirs(s3_jars.with_s3(ours) if s3 else ours, settings or {}).items()))
    with file.open("ab") as noise:
        try:
            gateway = launch_gateway(conf, {"stdout": noise, "stderr": noise})  # type: ignore[no-untyped-call]
            session = SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:  # the JVM fails in many ways and reports them only in its log
            raise SparkUnavailable(_why(error, file)) from None
    _silence(session)
    return session


def _silence(session: Any) -> None:
    """Log no plans and no stack traces: the caller reports errors, also if the JVM has ended."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # they print whole plans to stderr
        logging.getLogger(name).disabled = True
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it reports each connection that it closes
    logging.getLogger().addFilter(_is_not_of_py4j)
    session.sparkContext._accumulatorServer.handle_error = lambda *_: None


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j logs lost connections with the root logger, and then raises an error."""
    from py4j.protocol import Py4JError

    return not (record.exc_info and isinstance(record.exc_info[1], Py4JError | ConnectionError))


def check_pyspark() -> None:
    """Raise a clear error if PySpark is not installed."""
    if find_spec("pyspark") is None:
        raise SparkUnavailable("The pipeline requires PySpark: pip install 'kconf[spark]'.")


def default_log() -> Path:
    """The default log file of the JVM."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "kconf" / "spark.log"


def check_java() -> str:
    """The path and version output of Java; raises a clear error if there is no suitable one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    need = f"The pipeline requires Java {OLDEST_JAVA} or newer"
    if java is None or not os.access(java, os.X_OK):
        raise SparkUnavailable(f"{need}, but none was found in JAVA_HOME or on the PATH: install a JDK.")
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkUnavailable(f"{need}, but {java} does not run: {error}.") from None
    release = re.search(r'version "(?:1\.)?(\d+)', output)
    if release is None or int(release[1]) < OLDEST_JAVA:
        raise SparkUnavailable(f"{need}, but {java} is {f'version {release[1]}' if release else 'not Java'}.")
    return "\n".join([java, *(line for line in output.splitlines() if not line.startswith("Picked up "))])


def archive(java: str) -> Path | None:
    """The path of the class archive for this Java, existing or not; None if Delta Lake's jars are not downloaded."""
    import pyspark

    if not delta_is_downloaded():
        return None
    jars = sorted(Path(pyspark.__file__).parent.glob("jars/*.jar"))
    return class_archive.place([*jars, *_jars()], [java, pyspark.__version__])


def _sharing(java: str, record: Path | None) -> str:
    """The JVM options for writing a class archive or using one."""
    if record is not None:
        return class_archive.recorded(record)
    file = archive(java)
    return class_archive.used(file) if file is not None and class_archive.is_ours(file) else ""


def _settings(master: str, quick: bool, sharing: str) -> dict[str, str]:
    local = master.startswith("local")
    jvm = f"{_QUICK_JVM if quick else _JVM} {sharing}"
    settings = {
        "spark.master": master,
        "spark.app.name": "kconf pipeline",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",  # an invalid number is null, not an error
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {jvm}",
        "spark.executor.extraJavaOptions": f"-Duser.timezone=UTC {_JVM}",
        "spark.redaction.regex": REDACTED,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        # otherwise every column calls the JVM four times for its source location
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # half the size of Spark's default, and sorted
        "spark.sql.codegen.cache.maxEntries": "4000",  # Spark keeps 100; a batch would evict its own
        "spark.sql.maxConcurrentOutputFileWriters": "4",  # otherwise all rows are sorted by the partition column
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",  # some readers reject such tables
        "spark.databricks.delta.skipRecordingEmptyCommits": "false",  # a commit without rows records the round
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.jars.ivy": str(cache.ivy()),  # the default is under Java's `user.home`, which may differ from `$HOME`
        **_delta(local),
    }
    if local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{_memory()}m",
            "spark.sql.shuffle.partitions": "8",
        }
    return settings | (_QUICK if quick else {})


def _with_theirs(ours: dict[str, str], theirs: dict[str, str]) -> dict[str, str]:
    """Settings of a caller replace ours; their jars are added to ours."""
    both: dict[str, str] = {name: f"{ours[name]},{theirs[name]}" for name in _LISTS if name in ours and name in theirs}
    return {**ours, **theirs, **both}


def delta_is_downloaded() -> bool:
    """Whether Delta Lake's jars are downloaded."""
    return all(each.is_file() for each in _jars())


def _jars() -> list[Path]:
    """Delta Lake's jars, where Spark's resolver puts them."""
    return [cache.ivy() / "jars" / name for name in _JARS]


def _make_cache(s3: bool) -> None:
    """Create the directory for the jars unless they exist; raises a clear error if that fails."""
    another = "Set XDG_CACHE_HOME to another directory for Delta Lake's jars."
    if re.search("[:,]", str(cache.ivy())):
        raise SparkUnavailable(
            f"{cache.ivy()} contains a colon or a comma, which Spark does not allow in jar paths. {another}"
        )
    if not delta_is_downloaded() or (s3 and not s3_jars.are_downloaded()):
        try:
            cache.make()
        except OSError as error:
            raise SparkUnavailable(f"{cache.ivy()} cannot be written: {error.strerror}. {another}") from None


def _delta(local: bool) -> dict[str, str]:
    """Settings for Delta Lake's jars: the downloaded ones, or an instruction to download them.

    They are on the JVM's own class path, which a class archive requires; other machines receive them from Spark.
    """
    if not delta_is_downloaded():
        return {
            "spark.jars.packages": f"io.delta:delta-spark_{_SPARK}_2.13:{_DELTA}",
            "spark.jars.excludes": ",".join(_SHIPPED),
        }
    jars = list(map(str, _jars()))
    sent = {} if local else {"spark.jars": ",".join(jars)}
    return {"spark.driver.extraClassPath": os.pathsep.join(jars), **sent}


def _memory() -> int:
    """Megabytes for a local driver: half of the machine's memory, from 1 to 8 GB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024)
    return max(1024, min(8192, total // 2))


def _why(error: Exception, log: Path) -> str:
    """A sentence on why the JVM did not start, taken from its log."""
    text = log.read_text(errors="replace")[-20000:]
    if "unresolved dependency" in text or "UNRESOLVED DEPENDENCIES" in text:
        return (
            f"Spark could not download the jars of Delta Lake {_DELTA}, or those for S3: it needs access to a Maven "
            f"repository once (details: {log})."
        )
    if "Master removed our application" in text:
        return f"The Spark master provided no executors; see the workers' logs ({log})."
    if "All masters are unresponsive" in text:
        return f"No Spark master responds at the given address ({log})."
    if "Could not parse Master URL" in text or "Could not parse Master URL" in str(error):
        return "The master must be local[*], local[N], spark://HOST:PORT, or another URL that Spark supports."
    return f"Spark failed to start; see its log: {log}"


@contextmanager
def planned_for(session: SparkSession, *, is_few: bool, is_small: bool = False) -> Iterator[None]:
    """For few new rows, disable adaptive execution and use one shuffle partition; for small tables, also disable code
    generation.

    This saves a sixth of the time of a history with 1,000 new events; for 95,000 it would cost a fifth. Generated code
    contains the number of the round, so it would be compiled again in each run.
    """
    names = _FEW if is_few and not is_small else _SMALL_AND_FEW if is_few else ()
    before = {name: str(session.conf.get(name)) for name in names}
    for name in names:
        session.conf.set(name, _QUICK[name])
    try:
        yield
    finally:
        for name, was in before.items():
            session.conf.set(name, was)


def stop(session: Any) -> None:
    """Stop the session and its JVM; another one can be started afterwards."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    SparkContext._gateway = SparkContext._jvm = None
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is not None:
        process.stdin.close()
        process.wait(timeout=300)  # writing a class archive takes time


def is_alive(session: SparkSession) -> bool:
    """Whether the session can still work: its JVM runs, and its context was not stopped."""
    from py4j.protocol import Py4JError

    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except (Py4JError, OSError, AttributeError):  # pyspark sets _jsc to None when a context stops
        return False


def discard(session: SparkSession) -> None:
    """Discard a dead session and what is left of its JVM; another one can be started afterwards."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway: Any = session.sparkContext._gateway
    with suppress(Exception):  # its calls fail in different ways when the JVM has ended
        session.stop()
    with suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
