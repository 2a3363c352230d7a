"""A Spark session with Delta Lake, and the JVM behind it: its jars, its memory, its noise.

The jars come by Spark's own resolver, once; what Spark ships itself is excluded. The JVM writes to a log file, so that
a person sees the pipeline's own lines only. The master comes from the caller and from nowhere else.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kconf.errors import KconfError
from kconf.spark import cache, class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
LOCAL: Final = "local[*]"
_DELTA: Final = "4.4.0"
_SPARK: Final = "4.2"
_SHIPPED: Final = (  # with Spark: other versions beside them would only do harm
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

_JVM: Final = "-XX:+UseParallelGC -XX:-DontCompileHugeMethods"  # what Spark writes for wide tables is huge
_QUICK_JVM: Final = "-XX:+UseSerialGC -Xms1g -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_QUICK: Final = {
    "spark.buffer.pageSize": "1m",  # else each sort and each aggregate takes 64 MB, and clears them, for a few rows
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}


class SparkUnavailable(KconfError):
    """Spark does not start here; the message says what is missing."""


def start(
    master: str = LOCAL,
    *,
    log: Path | None = None,
    quick: bool = False,
    settings: dict[str, str] | None = None,
    record: Path | None = None,
) -> SparkSession:
    """The one session of this process, started if need be. `settings` are Spark's own, and win over ours.

    `quick` is for little data: most of a short run is compiling, so that the JVM uses its first compiler only, and
    Spark interprets its plans. `record` is a file for an archive of all classes that the JVM will have loaded.
    """
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkUnavailable("The pipeline needs PySpark: install kconf with the extra `spark`.") from None
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    java = check_java()
    _make_cache()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark takes the first python3 of the PATH
    file = log or default_log()
    file.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list({**_settings(master, quick, _sharing(java, record)), **(settings or {})}.items()))
    with file.open("ab") as noise:
        try:
            gateway = launch_gateway(conf, {"stdout": noise, "stderr": noise})  # type: ignore[no-untyped-call]
            session = SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:  # the JVM fails in many ways, and tells none of them but in its log
            raise SparkUnavailable(_why(error, file)) from None
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # they print whole plans to stderr
        logging.getLogger(name).disabled = True
    return session


def default_log() -> Path:
    """Where the JVM talks to, unless told otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "kconf" / "spark.log"


def check_java() -> str:
    """What Java is and says of itself; raises a sentence where no fitting one is."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    need = f"The pipeline needs a Java {OLDEST_JAVA} or newer"
    if java is None or not os.access(java, os.X_OK):
        raise SparkUnavailable(f"{need}, and there is none in JAVA_HOME or on the PATH: install a JDK.")
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkUnavailable(f"{need}, and {java} does not run: {error}.") from None
    release = re.search(r'version "(?:1\.)?(\d+)', told)
    if release is None or int(release[1]) < OLDEST_JAVA:
        raise SparkUnavailable(f"{need}, and {java} is {release[1] if release else 'none'}.")
    return "\n".join([java, *(line for line in told.splitlines() if not line.startswith("Picked up "))])


def archive(java: str) -> Path | None:
    """Where the archive of classes for this Java is, or would be; None: Delta Lake's jars are not here yet."""
    import pyspark

    if not brought():
        return None
    jars = sorted(Path(pyspark.__file__).parent.glob("jars/*.jar"))
    return class_archive.place([*jars, *_jars()], [java, pyspark.__version__])


def _sharing(java: str, record: Path | None) -> str:
    """The options by which a JVM writes an archive of its classes, or takes them from one."""
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
        "spark.sql.ansi.enabled": "false",  # a text that is no number is no number, and no reason to stop
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {jvm}",
        "spark.executor.extraJavaOptions": f"-Duser.timezone=UTC {_JVM}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # else every column asks the JVM four times where it is
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # half the size of Spark's own, and ordered
        "spark.sql.codegen.cache.maxEntries": "4000",  # of the 100 that Spark keeps, a batch throws out its own
        "spark.sql.maxConcurrentOutputFileWriters": "4",  # else all is sorted by what a table is partitioned by
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",  # some readers refuse such tables
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.jars.ivy": str(cache.ivy()),  # else it is under Java's `user.home`, which may not be `$HOME`
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


def brought() -> bool:
    """Whether Delta Lake's jars are here."""
    return all(each.is_file() for each in _jars())


def _jars() -> list[Path]:
    """Delta Lake's jars, where Spark's resolver puts them."""
    return [cache.ivy() / "jars" / name for name in _JARS]


def _make_cache() -> None:
    """Create the directory for the jars, unless they are here; raises a sentence where there can be none."""
    another = "Set XDG_CACHE_HOME to another directory, for Delta Lake's jars."
    if re.search("[:,]", str(cache.ivy())):
        raise SparkUnavailable(f"{cache.ivy()} has a : or a , in its name, which Spark cannot use for jars. {another}")
    if not brought():
        try:
            cache.make()
        except OSError as error:
            raise SparkUnavailable(f"{cache.ivy()} cannot be written: {error.strerror}. {another}") from None


def _delta(local: bool) -> dict[str, str]:
    """Delta Lake's jars: those that Spark's resolver brought before, or the order to bring them.

    They are on the JVM's own class path, as an archive of classes needs them; other machines are sent them.
    """
    if not brought():
        return {
            "spark.jars.packages": f"io.delta:delta-spark_{_SPARK}_2.13:{_DELTA}",
            "spark.jars.excludes": ",".join(_SHIPPED),
        }
    jars = list(map(str, _jars()))
    sent = {} if local else {"spark.jars": ",".join(jars)}
    return {"spark.driver.extraClassPath": os.pathsep.join(jars), **sent}


def _memory() -> int:
    """Megabytes for a local driver: half of what the machine has, from 1 to 8 GB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024)
    return max(1024, min(8192, total // 2))


def _why(error: Exception, log: Path) -> str:
    """A sentence for a JVM that did not start, as far as its log tells."""
    text = log.read_text(errors="replace")[-20000:]
    if "unresolved dependency" in text or "UNRESOLVED DEPENDENCIES" in text:
        return f"Spark could not fetch the jars of Delta Lake {_DELTA}: it needs its Maven repository once ({log})."
    if "Master removed our application" in text:
        return f"Spark's master gave the run no executors: its workers' logs tell why ({log})."
    if "All masters are unresponsive" in text:
        return f"No Spark master answers at the address given ({log})."
    if "Could not parse Master URL" in text or "Could not parse Master URL" in str(error):
        return "The master must be local[*], local[N], spark://HOST:PORT, or what else Spark knows."
    return f"Spark does not start; its log tells why: {log}"


def stop(session: Any) -> None:
    """End the session and its JVM; another may be started then."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    SparkContext._gateway = SparkContext._jvm = None
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is not None:
        process.stdin.close()
        process.wait(timeout=300)  # a JVM that writes an archive of its classes takes its time
