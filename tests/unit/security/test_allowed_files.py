"""Which files a server reads because a config names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.security.allowed_files import MAX_BYTES, AllowedFiles

OUTSIDE = "is not below a directory that dynamic.files.directories allows"


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    directory = tmp_path / "allowed"
    directory.mkdir()
    (directory / "a.pem").write_bytes(b"a")
    (tmp_path / "outside.pem").write_bytes(b"outside")
    (tmp_path / "allowed-too").mkdir()
    (tmp_path / "allowed-too" / "b.pem").write_bytes(b"b")
    return directory


def test_a_file_below_a_directory_is_read_also_through_links_inside_it(allowed: Path) -> None:
    (allowed / "data").mkdir()
    (allowed / "data" / "c.pem").write_bytes(b"c")
    (allowed / "current").symlink_to("data")
    files = AllowedFiles((str(allowed),))

    assert files.read(str(allowed / "a.pem")) == b"a"
    assert files.read(str(allowed / "current" / "c.pem")) == b"c"


def test_the_directory_itself_may_be_a_link(allowed: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(allowed)

    assert AllowedFiles((str(tmp_path / "link"),)).read(str(tmp_path / "link" / "a.pem")) == b"a"


def test_other_paths_get_the_same_refusal_whether_or_not_they_exist(allowed: Path, tmp_path: Path) -> None:
    (allowed / "out").symlink_to(tmp_path / "outside.pem")
    (allowed / "nowhere").symlink_to(tmp_path / "missing")
    files = AllowedFiles((str(allowed),))
    for path in (
        tmp_path / "outside.pem",
        tmp_path / "missing",
        tmp_path / "allowed-too" / "b.pem",
        f"{allowed}/../outside.pem",
        f"{allowed}/../missing",
        allowed / "out",
        allowed / "nowhere",
        allowed,
        "outside.pem",
        f"{allowed}/a\0.pem",
    ):
        with pytest.raises(ConfigurationError) as raised:
            files.read(str(path))
        assert str(raised.value) == f"{path} {OUTSIDE}"


def test_a_path_of_the_static_configuration_is_read_wherever_it_is(allowed: Path, tmp_path: Path) -> None:
    outside = str(tmp_path / "outside.pem")

    assert AllowedFiles.of([str(allowed)], [outside]).read(outside) == b"outside"


def test_by_default_files_next_to_static_paths_are_allowed(allowed: Path, tmp_path: Path) -> None:
    files = AllowedFiles.of([], [str(allowed / "a.pem")])
    (allowed / "new.pem").write_bytes(b"new")

    assert files.read(str(allowed / "new.pem")) == b"new"
    with pytest.raises(ConfigurationError, match=OUTSIDE):
        files.read(str(tmp_path / "outside.pem"))


def test_without_directories_nothing_is_read(allowed: Path) -> None:
    with pytest.raises(ConfigurationError, match=OUTSIDE):
        AllowedFiles.of([], []).read(str(allowed / "a.pem"))


def test_a_fifo_a_directory_and_a_device_are_not_read(allowed: Path) -> None:
    """Opening the FIFO would wait for a writer."""
    os.mkfifo(allowed / "fifo")
    (allowed / "directory").mkdir()
    for files, path in (
        (AllowedFiles((str(allowed),)), str(allowed / "fifo")),
        (AllowedFiles((str(allowed),)), str(allowed / "directory")),
        (AllowedFiles(("/dev",)), "/dev/zero"),
        (AllowedFiles.of([], ["/dev/zero"]), "/dev/zero"),
    ):
        with pytest.raises(ConfigurationError, match="cannot be read: not a regular file"):
            files.read(path)


def test_a_large_file_is_refused(allowed: Path) -> None:
    with open(allowed / "large", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ConfigurationError, match="larger than"):
        AllowedFiles((str(allowed),)).read(str(allowed / "large"))


def test_a_static_path_in_the_root_does_not_allow_everything() -> None:
    assert AllowedFiles.of([], ["/broker.pem"]).directories == ()
