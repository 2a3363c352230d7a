"""Options of the pipeline's commands: what is read, and the files that tables are compared with."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.spark.inputs import Inputs, Sources


def add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--archive",
        metavar="URI",
        action="append",
        default=[],
        help="what --archive of `kconf serve` or `kconf follow` says",
    )
    parser.add_argument(
        "--snapshot",
        metavar="CONTEXT|URI",
        action="append",
        default=[],
        help="a live cluster (context or HOST:PORT), or a directory written by `kconf snapshot`",
    )
    parser.add_argument(
        "--metadata-log",
        metavar="DIR",
        action="append",
        default=[],
        help="a KRaft controller's metadata directory (__cluster_metadata-0), of a cluster that nobody followed",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--declared",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="declarative YAML file or directory",
    )
    add("--policy", metavar="FILE", type=Path, help="policy file, same format as the server's policy.file")
    add("--owners", metavar="FILE", type=Path, help="CSV of TOPIC,OWNER: a name, a glob or /regex/")
    add("--usage", metavar="FILE", type=Path, help="CSV or Parquet of user, client_id, key, rate")


def sources_of(options: argparse.Namespace) -> Sources:
    """What is read. A wrong name or directory costs no start of Spark."""
    from kconf.spark.inputs import Sources

    for each in options.metadata_log:
        _check_metadata_log(each)
    clusters = [cluster_of(each) for each in options.snapshot if not _is_place(each)]
    places = [each for each in options.snapshot if _is_place(each)]
    return Sources(options.archive, places, clusters, options.metadata_log)


def inputs_of(options: argparse.Namespace) -> Inputs:
    """The files, checked: a mistake in one of them costs no start of Spark."""
    from kconf.spark.inputs import Inputs

    inputs = Inputs(options.declared, options.policy, options.owners, options.usage)
    inputs.check()
    return inputs


def cluster_of(text: str) -> dict[str, str]:
    """The options of the live source; a context is looked up now, so that a wrong name fails early."""
    if re.fullmatch(r"[\w.\-\[\]:]+:\d+(,[\w.\-\[\]:]+:\d+)*", text):
        return {"bootstrap.servers": text}
    from kconf.client.contexts.load import load_contexts

    load_contexts().named(text)
    return {"context": text}


def _check_metadata_log(directory: str) -> None:
    from kconf.client.kraft.metadata_directory import MetadataDirectory

    MetadataDirectory(directory).require_cluster()


def _is_place(text: str) -> bool:
    return "/" in text or Path(text).is_dir()
