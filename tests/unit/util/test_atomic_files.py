"""Files are written completely or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf.errors import ConfigurationError
from kconf.util.atomic_files import private_directory


def test_a_uri_is_refused_and_no_directory_with_its_name_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigurationError, match="s3:// cannot be written to; use a local directory"):
        private_directory(Path("s3://bucket/archive"))
    assert list(tmp_path.iterdir()) == []
    private_directory(tmp_path / "a:b" / "c")
    assert (tmp_path / "a:b" / "c").is_dir()
