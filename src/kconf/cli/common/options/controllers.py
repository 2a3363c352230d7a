"""The controllers whose metadata log a command follows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.operations.target import Target


def add_controllers(parser: argparse.ArgumentParser) -> None:
    """The options for following the metadata log, which override the context."""
    group = parser.add_argument_group("metadata log")
    group.add_argument("--controllers", metavar="HOST:PORT,…", help="KRaft controllers (default: the context's)")
    group.add_argument(
        "--controller-properties",
        metavar="FILE",
        help=(
            "properties file for the controllers (TLS, SASL); the principal needs CLUSTER_ACTION, which is "
            "equivalent to a super user"
        ),
    )


def with_controllers(cluster: Target, options: argparse.Namespace) -> Target:
    """The cluster with the controllers of the command line."""
    given = {"controllers": options.controllers, "controller_properties": options.controller_properties}
    return cluster._replace(context=cluster.context._replace(**{key: value for key, value in given.items() if value}))
