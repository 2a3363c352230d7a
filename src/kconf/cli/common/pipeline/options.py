"""Options of the pipeline's commands: sources, and files to compare with."""

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
        help="archive directory of `kconf serve --archive` or `kconf follow`",
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
        help="a KRaft controller's metadata directory (__cluster_metadata-0), for a cluster without `kconf follow`",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--declared",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="declarative YAML file or directory, to find drift",
    )
    add(
        "--policy",
        metavar="FILE",
        type=Path,
        help="policy file, to find violations; same format as the server's policy.file",
    )
    add(
        "--owners",
        metavar="FILE",
        type=Path,
        help="owners of topics: CSV of TOPIC,OWNER, where TOPIC is a name, a glob or /regex/",
    )
    add(
        "--usage",
        metavar="FILE",
        type=Path,
        help="actual quota usage of clients: CSV or Parquet of user, client_id, key, rate",
    )


def sources_of(options: argparse.Namespace) -> Sources:
    """The sources, checked before Spark starts."""
    from kconf.spark.inputs import Sources

    for each in options.metadata_log:
        _check_metadata_log(each)
    clusters = [cluster_of(each) for each in options.snapshot if not _is_place(each)]
    places = [each for each in options.snapshot if _is_place(each)]
    return Sources(options.archive, places, clusters, options.metadata_log)


def inputs_of(options: argparse.Namespace) -> Inputs:
    """The input files, checked before Spark starts."""
    from kconf.spark.inputs import Inputs

    inputs = Inputs(options.declared, options.policy, options.owners, options.usage)
    inputs.check()
    return inputs


def cluster_of(text: str) -> dict[str, str]:
    """The options of the Spark source; the context is looked up now, so that a wrong name fails early."""
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
