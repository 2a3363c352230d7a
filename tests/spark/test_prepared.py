"""The class archive: the JVM itself reports its use, and a faulty archive never prevents a start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kconf.spark import session
from kconf.spark.startup import cache as own
from kconf.spark.startup import class_archive
from tests.spark.test_command import kconf

MAKE = """
import sys
from pathlib import Path
from kconf.spark import session
from kconf.spark.startup import warmup
warmup.make(session.archive(session.check_java()), Path(sys.argv[1]), print, lambda *_: None)
"""
START = """
import sys
from pathlib import Path
from kconf.spark import session
settings = {"spark.driver.extraClassPath": sys.argv[3]} if len(sys.argv) > 3 else None
started = session.start("local[1]", log=Path(sys.argv[1]), quick=sys.argv[2] == "quick", settings=settings)
print(started.conf.get("spark.driver.extraJavaOptions"))
session.stop(started)
"""
FIND = """
from kconf.spark import session
print(session.delta_is_downloaded(), session.archive(session.check_java()))
"""
FROM_ARCHIVE = "source: shared objects file (top)"


def python(code: str, cache: Path, *words: object, **more: str) -> subprocess.Popen[str]:
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), **more}
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def done(process: subprocess.Popen[str]) -> str:
    try:
        told, _ = process.communicate(timeout=850)
    finally:
        process.kill()
    assert process.returncode == 0, told
    return told


@pytest.fixture(scope="module")
def ivy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of Delta Lake's jars; they are downloaded if `make ready` has not run."""
    if not session.delta_is_downloaded():
        done(python(START, own.directory().parent, tmp_path_factory.mktemp("fetch") / "spark.log", "quick"))
    return own.ivy()


@pytest.fixture(scope="module")
def cache(ivy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with an archive that two processes created concurrently; only the classes of a start, for speed."""
    where = tmp_path_factory.mktemp("cache")
    (where / "kconf").mkdir()
    (where / "kconf" / "ivy").symlink_to(ivy)
    makers = [python(MAKE, where, where / f"{number}.log") for number in (1, 2)]
    for each in makers:
        done(each)
    yield where
    shutil.rmtree(where)


def archive(cache: Path) -> Path:
    (file,) = (each for each in (cache / "kconf").iterdir() if each.name != "ivy")  # and no temporary files
    return file


@contextmanager
def damaged(file: Path, copy: Path) -> Iterator[None]:
    """Damage the middle of a file, without changing its length and header."""
    shutil.copy2(file, copy)
    file.chmod(0o600)
    with file.open("r+b") as middle:
        for place in range(file.stat().st_size // 4, file.stat().st_size, file.stat().st_size // 50):
            middle.seek(place)
            middle.write(b"\xde\xad\xbe\xef" * 1000)
    try:
        yield
    finally:
        shutil.move(copy, file)


def loaded(cache: Path, tmp_path: Path, *words: str) -> list[str]:
    """Start and stop a session; returns where its JVM loaded Spark's classes from."""
    options = f"-Xlog:class+load:file={tmp_path}/%p.classes"
    given = done(python(START, cache, tmp_path / "spark.log", *words, JAVA_TOOL_OPTIONS=options))
    assert f"-XX:SharedArchiveFile={archive(cache)}" in given
    logs = [each.read_text() for each in tmp_path.glob("*.classes")]
    (ours,) = [each for each in logs if "org.apache.spark.SparkContext " in each]  # the others belong to the launcher
    return [line for line in ours.splitlines() if " org.apache.spark." in line and "Lambda" not in line]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["quick", "full"])
def test_every_jvm_of_kconf_loads_its_classes_from_one_archive(cache: Path, tmp_path: Path, kind: str) -> None:
    """Created by a JVM with one garbage collector, and used by one with another."""
    said = loaded(cache, tmp_path, kind)

    taken = [line for line in said if FROM_ARCHIVE in line]
    assert len(taken) > 1000
    assert len(taken) > len(said) * 0.9


@pytest.mark.full
def test_a_damaged_archive_is_ignored(cache: Path, tmp_path: Path) -> None:
    """Without verification, the JVM would crash."""
    with damaged(archive(cache), tmp_path / "whole"):
        said = loaded(cache, tmp_path, "quick")

    assert len(said) > 1000
    assert not [line for line in said if FROM_ARCHIVE in line]


@pytest.mark.full
def test_an_archive_of_other_jars_is_ignored(cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jar"
    jars = os.pathsep.join(map(str, sorted((cache / "kconf" / "ivy" / "jars").glob("io.delta_*.jar"))))
    shutil.copy(jars.split(os.pathsep)[0], other)

    said = loaded(cache, tmp_path, "quick", f"{other}{os.pathsep}{jars}")

    assert len(said) > 1000
    assert not [line for line in said if FROM_ARCHIVE in line]


@pytest.mark.full
def test_jars_are_found_where_home_is_not_the_home_directory_of_the_password_file(ivy: Path, tmp_path: Path) -> None:
    """As in many containers, where `HOME` differs from Java's `user.home`, which comes from the password file."""
    cache = tmp_path / ".cache" / "kconf"
    shutil.copytree(
        ivy / "cache", cache / "ivy" / "cache"
    )  # files downloaded by the resolver, which puts the jars next to them
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    before = done(python(FIND, cache, **home))

    done(python(START, cache, tmp_path / "spark.log", "quick", **home))

    found, _, archived = done(python(FIND, cache, **home)).strip().partition(" ")
    assert (before, found) == ("False None\n", "True")
    assert Path(archived).parent == cache


@pytest.mark.full
def test_preparing_again_keeps_the_class_archive(cache: Path) -> None:
    file = archive(cache)
    made = file.stat()

    told = kconf("pipeline", "prepare", environment={"XDG_CACHE_HOME": str(cache)})

    assert (told.returncode, told.stderr) == (0, "starting Spark …\n")
    assert told.stdout == f"wrote the JVM class archive {file}, {made.st_size // (1024 * 1024)} MB\n"
    assert (archive(cache), file.stat().st_mtime_ns) == (file, made.st_mtime_ns)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("file", "cannot be written: Not a directory."),
        ("a:b", "characters that are not allowed in a Java option"),
        ("a,b", "contains a colon or a comma, which Spark does not allow in jar paths"),
    ],
)
def test_an_unusable_cache_is_reported_in_one_sentence(tmp_path: Path, place: str, sentence: str) -> None:
    (tmp_path / "file").touch()

    told = kconf("pipeline", "prepare", environment={"XDG_CACHE_HOME": str(tmp_path / place)})

    assert (told.returncode, told.stdout) == (1, "")
    assert sentence in told.stderr.splitlines()[-1]


def test_a_new_class_archive_replaces_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of other jars is kept while in use; the previous one of the same jars is deleted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jars, others, forgotten = (tmp_path / name for name in ("jars", "others", "forgotten"))
    for each in (jars, others, forgotten):
        each.mkdir()
        (each / "a.jar").touch()

    def made(place: Path) -> Path:
        file = class_archive.place([place / "a.jar"], ["1"])
        assert file is not None
        file.parent.mkdir(exist_ok=True)
        file.touch()
        return file

    old, other, unused = map(made, (jars, others, forgotten))
    for each in (other, unused):
        os.utime(each, (0, 0))
    class_archive.used(other)
    (jars / "a.jar").write_text("another version")
    new = made(jars)
    left, at_work = (new.parent / f"{class_archive.MAKING}{name}" for name in ("left", "at-work"))
    for each in (left, at_work):
        each.mkdir()
    os.utime(left, (0, 0))

    assert sorted(class_archive.obsolete(new)) == sorted([left, old, unused])


def test_a_class_archive_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsa"
    assert not class_archive.is_ours(file)
    file.touch()
    assert class_archive.is_ours(file)

    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
    assert not class_archive.is_ours(file)
