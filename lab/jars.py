"""Kafka's jars, downloaded once with Maven into the user's cache.

A release is complete if its directory exists: the jars are downloaded to a temporary directory, which is then renamed.
The POM is stored with them, so that a changed list of dependencies is downloaded again. `python -m lab.jars` downloads
all releases that the lab uses.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.java import LabError, cache_dir, java, maven

VERSIONS = ("4.3.1", "3.9.2")  # releases that the tests start
CATALOG_VERSIONS = ("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1")  # releases with a catalog of keys
CLIENT_VERSION = "4.4.0"  # without broker jars yet
CLIENTS = ("1.1.1", "2.0.1", "2.3.1", "2.8.2", "3.3.2", "3.9.2", "4.3.1", "4.4.0")
"""Releases of which the lab has the Java client alone."""

# 4.x logs with log4j2, 3.x with reload4j; neither POM includes the slf4j binding of the tarball.
_LOGGING = {
    **dict.fromkeys((*CATALOG_VERSIONS, CLIENT_VERSION), "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    "3.9.2": "org.slf4j:slf4j-reload4j:1.7.36",
}
_CONF = Path(__file__).parent / "conf"
_ATTEMPTS = 4


def classpath(version: str) -> str:
    """The class path of a Kafka release, broker and tools; downloads it the first time."""
    return f"{jar_dir(version)}/*"


def jar_dir(version: str) -> Path:
    if version not in _LOGGING:
        raise LabError(f"The lab supports Kafka {', '.join(_LOGGING)}, not {version}.")
    names = ("kafka-clients", "kafka-server-common") if version == CLIENT_VERSION else ("kafka_2.13", "kafka-tools")
    wanted = [*(f"org.apache.kafka:{name}:{version}" for name in names), _LOGGING[version]]
    return _fetched(f"kafka-{version}", version, wanted)


def client_classpath(version: str) -> str:
    """The class path of a release's Java client, which logs nothing; downloads it the first time."""
    if version not in CLIENTS:
        raise LabError(f"The lab supports the clients {', '.join(CLIENTS)}, not {version}.")
    wanted = [f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-nop:1.7.36"]
    return f"{_fetched(f'kafka-clients-{version}', version, wanted)}/*"


def _fetched(name: str, version: str, wanted: Sequence[str]) -> Path:
    pom = _pom(version, wanted)
    target = cache_dir() / name
    if not _complete(target, pom):
        with _lock(cache_dir() / "jars.lock"):
            if not _complete(target, pom):
                _fetch(version, pom, target)
    return target


def logging_options(version: str, level: str) -> list[str]:
    """JVM options that send a release's log to stderr, from this level on."""
    if version.startswith("3."):
        return [f"-Dlog4j.configuration=file:{_CONF / 'log4j.properties'}", f"-Dlab.level={level}"]
    return [f"-Dlog4j2.configurationFile=file:{_CONF / 'log4j2.properties'}", f"-Dlab.level={level}"]


def java_command(
    version: str, main: str, *args: str, options: tuple[str, ...] = (), level: str = "WARN", classes: Path | None = None
) -> list[str]:
    """The command line that runs one class of a release, with `classes` before its jars."""
    path = classpath(version) if classes is None else f"{classes}:{classpath(version)}"
    return [java(), *options, *logging_options(version, level), "-cp", path, main, *args]


def _complete(target: Path, pom: str) -> bool:
    try:
        return (target / "pom.xml").read_text() == pom
    except FileNotFoundError:
        return False


def _fetch(version: str, pom: str, target: Path) -> None:
    print(f"Fetching Kafka {version} with Maven into {target} (once).", file=sys.stderr, flush=True)
    work = Path(tempfile.mkdtemp(prefix=".jars-", dir=cache_dir()))
    try:
        (work / "pom.xml").write_text(pom)
        _run_maven(version, work)
        shutil.rmtree(work / "target", ignore_errors=True)
        if target.exists():
            target.rename(work.with_suffix(".old"))
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(work.with_suffix(".old"), ignore_errors=True)


def _run_maven(version: str, work: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={work}"]
    command = [maven(), "-q", "-B", "-Dstyle.color=never", *goal]
    output = ""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, timeout=900)
        except subprocess.TimeoutExpired:
            output = "it took more than 15 minutes"
        else:
            if done.returncode == 0:
                return
            output = (done.stdout + done.stderr)[-2000:]
        if attempt < _ATTEMPTS:
            print(f"Maven failed; attempt {attempt + 1} of {_ATTEMPTS} follows.", file=sys.stderr, flush=True)
            time.sleep(3 * attempt)
    raise LabError(f"Maven could not fetch Kafka {version}: {output}")


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Allow one process at a time: Maven's local repository is not safe for concurrent use."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _pom(version: str, wanted: Sequence[str]) -> str:
    return f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kconf</groupId>
  <artifactId>lab</artifactId>
  <version>{version}</version>
  <dependencies>
{"".join(map(_dependency, wanted))}  </dependencies>
</project>
"""


def _dependency(coordinates: str) -> str:
    group, artifact, version = coordinates.split(":")
    return (
        f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>\n"
    )


if __name__ == "__main__":
    try:
        for each in VERSIONS:
            print(jar_dir(each))
    except LabError as error:
        sys.exit(str(error))
