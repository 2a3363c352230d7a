"""The option `--usage`: a file with the actual quota usage of clients."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.operations.risks.usage import UsageRow


def add_usage(parser: argparse.ArgumentParser) -> None:
    about = (
        "actual usage of clients, CSV or Parquet of user, client_id, key, rate: quotas below it are marked "
        "'! quota-below-usage'"
    )
    parser.add_argument("--usage", metavar="FILE", help=about)


def usage_rows(options: argparse.Namespace) -> list[UsageRow]:
    """The rows of the file; none without the option."""
    path = getattr(options, "usage", None)
    if path is None:
        return []
    from kconf.operations.risks.usage import read_usage

    return read_usage(path)
