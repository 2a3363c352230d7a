"""Finds the Java tools, and compiles the lab's own Java files.

If a tool is missing or too old, a `LabError` has one sentence with what to install. Compiled classes are in the cache,
under the hash of their sources and the Kafka release.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST_JAVA = 17
QUICK = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # JVM options for short-lived processes
SOURCES = Path(__file__).parent / "java"


class LabError(Exception):
    """The lab cannot continue. The message has the reason and what to do, in one sentence."""


def cache_dir() -> Path:
    """The directory for jars and compiled classes, outside the repository."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(root) / "kconf-lab"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@functools.cache
def java() -> str:
    return _jdk_tool("java")


@functools.cache
def javac() -> str:
    return _jdk_tool("javac")


@functools.cache
def maven() -> str:
    found = shutil.which("mvn")
    if found is None:
        raise LabError("The lab needs Maven to fetch Kafka's jars, but there is no `mvn` on the PATH: install Maven.")
    return found


def compiled(version: str, classpath: str, *, only: str = "*") -> Path:
    """The directory with the classes of `lab/java/*.java`, compiled if necessary.

    `version` is the Kafka release on the class path; `only` excludes sources that need more than that.
    """
    sources = sorted(SOURCES.glob(f"{only}.java"))
    digest = hashlib.sha256(b"\0".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    target = cache_dir() / f"classes-{version}-{digest}"
    if target.is_dir():
        return target
    work = Path(tempfile.mkdtemp(prefix=".classes-", dir=cache_dir()))
    try:
        flags = ("-proc:none", "-nowarn", "-encoding", "UTF-8", "-cp", classpath)
        command = [javac(), *flags, "-d", str(work), *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise LabError(f"The lab's Java files do not compile with {version}:\n{done.stdout}{done.stderr}")
        settle(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def settle(work: Path, target: Path) -> None:
    """Rename finished work to its final name; if another process was faster, use its result."""
    try:
        work.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _jdk_tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    path = Path(home, "bin", name) if home else None
    found = str(path) if path and os.access(path, os.X_OK) else shutil.which(name)
    needs = f"Kafka and ZooKeeper need a JDK {OLDEST_JAVA} or newer"
    if found is None:
        raise LabError(f"{needs}, and no `{name}` is in JAVA_HOME or on the PATH.")
    release = _release(found)
    if release < OLDEST_JAVA:
        raise LabError(f"{needs}, and {found} is version {release}.")
    return found


def _release(tool: str) -> int:
    """The feature release (8, 17, 21) that a tool reports about itself."""
    try:
        done = subprocess.run([tool, "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{tool} does not run: {error}") from error
    # `openjdk version "17.0.1"` from java, `javac 17.0.1` from javac; Java 8 called itself 1.8.
    match = re.search(r"(?:version \"|javac )(?:1\.)?(\d+)", done.stderr + done.stdout)
    if match is None:
        raise LabError(f"{tool} did not print its version.")
    return int(match[1])


def main() -> int:
    """`python -m lab.java`: print in one sentence what is missing, before anything is built."""
    try:
        java()
        javac()
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
