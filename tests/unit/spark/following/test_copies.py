"""A directory of copied journals belongs to one lake."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from kconf.errors import ConfigurationError
from kconf.lake.storage.location import LakeError
from kconf.spark.following.copies import claim
from kconf.spark.following.feed_copy import CopiedFiles, Position


def finished(lake: Path) -> str:
    """A lake with a finished run."""
    texts = pa.map_(pa.string(), pa.string())
    schema = pa.schema(
        [("run", pa.int64()), ("finished", pa.string()), ("round", pa.int64()), ("versions", texts), ("inputs", texts)]
    )
    row = {"run": 1, "finished": "", "round": 1, "versions": [("a", "1")], "inputs": [("a", "1")]}
    write_deltalake(lake / "runs", pa.Table.from_pylist([row], schema))
    return str(lake)


def saved(copies: Path) -> Position | None:
    with CopiedFiles(copies, "c-1") as files:
        return files.position()


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """A directory of the lake `one`."""
    found = tmp_path / "copies"
    claim(found, finished(tmp_path / "one"))
    with CopiedFiles(found, "c-1") as files:
        files.save(Position(1, 5))
    return found


def test_the_directory_of_another_lake_is_refused(copies: Path, tmp_path: Path) -> None:
    claim(copies, str(tmp_path / "one"))

    with pytest.raises(ConfigurationError) as raised:
        claim(copies, finished(tmp_path / "other"))

    assert str(raised.value) == (
        f"{copies} has the copies for the lake {tmp_path / 'one'}; pass another directory with --copies"
    )
    assert saved(copies) == Position(1, 5)


def test_a_directory_inside_a_lake_belongs_to_it_also_after_the_lake_was_moved(tmp_path: Path) -> None:
    claim(tmp_path / "one" / "feeds", finished(tmp_path / "one"))
    shutil.move(tmp_path / "one", tmp_path / "two")
    copies = tmp_path / "two" / "feeds"

    claim(copies, str(tmp_path / "two"))

    with pytest.raises(ConfigurationError, match=f"has the copies for the lake {tmp_path}/two; pass another"):
        claim(copies, finished(tmp_path / "other"))


def test_for_a_lake_that_was_deleted_everything_is_copied_again(copies: Path, tmp_path: Path) -> None:
    """Otherwise the new lake of that name would lack all changes before the position."""
    claim(copies, str(tmp_path / "one"))
    assert saved(copies) == Position(1, 5)
    shutil.rmtree(tmp_path / "one")

    claim(copies, str(tmp_path / "one"))

    assert saved(copies) is None


def test_a_directory_that_cannot_be_written_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(LakeError, match=f"cannot write {tmp_path}/file: Not a directory"):
        claim(tmp_path / "file", str(tmp_path / "lake"))


def test_a_second_follower_with_the_same_copies_ends_before_it_starts_spark(copies: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kconf", "pipeline", "follow", "--server", "127.0.0.1:9"]
    words = ["--lake", str(tmp_path / "other"), "--copies", str(copies)]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"{tmp_path}/one; pass another directory with --copies\n")
