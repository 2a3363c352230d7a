"""Reads the metadata directory of a controller offline: `__cluster_metadata-0` with its segments and snapshots.

The history is the oldest snapshot, followed by the segments after it. The directory does not show how far the log is
committed, so the last records may never have been committed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kconf.client.kraft.follower import LogChanges, LogGap
from kconf.client.kraft.image import MetadataImage
from kconf.client.kraft.image_difference import difference
from kconf.client.kraft.snapshot import read_snapshot
from kconf.errors import ConfigurationError, RemoteProtocolError
from kconf.protocol.records.batches import read_batches

_FOLDER: Final = "__cluster_metadata-0"
_QUORUM: Final = "quorum-state"
_SEGMENT: Final = re.compile(r"(\d{20})\.log")
_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class _SnapshotFile(NamedTuple):
    end: int
    epoch: int
    path: Path


class MetadataDirectory:
    """`directory` is the directory `__cluster_metadata-0`, or its parent."""

    def __init__(self, directory: str | Path) -> None:
        given = Path(directory)
        folder = given / _FOLDER if (given / _FOLDER).is_dir() else given
        try:
            names = sorted(folder.iterdir())
        except OSError as error:
            raise ConfigurationError(f"cannot read {given}: {error.strerror}") from None
        self.folder = folder
        self._segments = [(int(found[1]), path) for path in names if (found := _SEGMENT.fullmatch(path.name))]
        snapshots = [
            _SnapshotFile(int(found[1]), int(found[2]), path)
            for path in names
            if (found := _SNAPSHOT.fullmatch(path.name)) and int(found[1])
        ]
        is_named = folder.name == _FOLDER or bool(snapshots) or (folder / _QUORUM).exists()
        if not is_named or not (self._segments or snapshots):
            raise ConfigurationError(f"{given} contains no metadata log; pass the directory {_FOLDER} of a controller")
        self._snapshot = min(snapshots, default=None) if not self._reaches_back() else None
        self.end = 0

    @property
    def files(self) -> list[Path]:
        """The files that are read."""
        return [path for _, path in self._segments] + ([self._snapshot.path] if self._snapshot else [])

    def _reaches_back(self) -> bool:
        return bool(self._segments) and self._segments[0][0] == 0

    @property
    def cluster(self) -> str | None:
        """The cluster id from meta.properties next to the log, or None if there is no such file."""
        paths = [each[1] for each in self._segments] or [self._snapshot.path if self._snapshot else Path()]
        try:
            text = (paths[0].parent.parent / "meta.properties").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        found = re.search(r"^cluster\.id=(.+)$", text, re.MULTILINE)
        return found[1].strip() if found else None

    def require_cluster(self) -> str:
        """The cluster id. Raises ConfigurationError if it is unknown."""
        found = self.cluster
        if found is None:
            raise ConfigurationError(
                f"{self.folder} does not contain the cluster id; copy the meta.properties of the log directory to "
                f"{self.folder.parent}"
            )
        return found

    def events(self) -> Iterator[LogChanges | LogGap]:
        """The content of the files in order.

        The part before the oldest snapshot is a gap. Raises ConfigurationError.
        """
        image, begin = MetadataImage(), 0
        if self._snapshot is not None:
            begin, epoch, path = self._snapshot
            loaded, time = self._load(path, begin)
            yield LogGap(0, begin, epoch, time, tuple(difference(image, loaded)))
            image = loaded
        self.end = begin
        for first, path in self._segments:
            try:
                for batch in read_batches(path.read_bytes()):
                    if batch.next_offset <= self.end:
                        continue
                    if batch.base_offset > self.end:
                        raise ConfigurationError(
                            f"offsets {self.end} to {batch.base_offset - 1} are missing: {path} continues with offset "
                            f"{batch.base_offset}"
                        )
                    revisions = image.apply(batch)
                    self.end = batch.next_offset
                    if revisions:
                        yield LogChanges(batch.leader_epoch, self.end, revisions)
            except RemoteProtocolError as error:
                raise ConfigurationError(f"{path} (starting at offset {first}) is damaged: {error}") from None
            except OSError as error:
                raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None

    @staticmethod
    def _load(path: Path, end: int) -> tuple[MetadataImage, int]:
        try:
            return read_snapshot(path.read_bytes(), end)
        except RemoteProtocolError as error:
            raise ConfigurationError(f"{path} is damaged: {error}") from None
        except OSError as error:
            raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
