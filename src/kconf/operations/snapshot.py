"""Writes snapshots of clusters to files for the pipeline, one file per cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError, KafkaError

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target


@dataclass(frozen=True)
class SnapshotFile:
    """A written snapshot."""

    path: Path
    lines: int
    size: int  # bytes


def read_clusters(targets: Sequence[Target]) -> list[ClusterState | KafkaError]:
    """Read all clusters concurrently; a failure does not affect the others."""

    async def read_all() -> list[ClusterState | KafkaError]:
        return await asyncio.gather(*(_read(each) for each in targets))

    return asyncio.run(read_all())


async def _read(target: Target) -> ClusterState | KafkaError:
    from kconf.client.cluster_reader import read_cluster

    try:
        async with target.open_async() as admin:
            return await read_cluster(admin)
    except KafkaError as error:
        return error


def snapshot_directory(out: str) -> str:
    """The directory that a path or a `file://` URI names."""
    scheme, separator, path = out.partition("://")
    if not separator:
        return out
    if scheme != "file" or not path.startswith("/"):
        raise ConfigurationError(
            f"snapshots are written to a directory or a file:///… URI, not to {out}; write to a directory and upload "
            "it with your storage's own tool"
        )
    from urllib.parse import unquote

    return unquote(path)


def write_snapshot(directory: str, target: Target, state: ClusterState) -> SnapshotFile:
    """Write `<directory>/<cluster id>/<time>.jsonl` atomically."""
    from kconf.model.lines.journal import to_json
    from kconf.model.lines.snapshot import snapshot_lines
    from kconf.util.atomic_files import PartialFile, cluster_directory, private_directory
    from kconf.version import __version__

    place = cluster_directory(directory, state.cluster)
    count = 0
    try:
        private_directory(place)
        with PartialFile(place) as file:
            for line in snapshot_lines(state, target.name, target.context.labels, __version__):
                file.write(to_json(line).encode() + b"\n")
                count += 1
            size = file.size
            path = file.publish(f"{_timestamp(state.taken)}.jsonl")
    except OSError as error:
        raise ConfigurationError(f"{place} cannot be written: {error.strerror}") from None
    return SnapshotFile(Path(path), count, size)


def _timestamp(taken: int) -> str:
    """The time as text that sorts chronologically."""
    from datetime import UTC, datetime

    time = datetime.fromtimestamp(taken / 1000, UTC)
    return f"{time:%Y%m%dT%H%M%S}.{taken % 1000:03}Z"
