"""`kconf lake register`: statements that register the tables in Spark SQL."""

from __future__ import annotations

import argparse

from kconf.cli.commands.lake.scope import begin
from kconf.cli.output.result import CommandResult, ResultColumn


def register(options: argparse.Namespace, answer: CommandResult) -> None:
    """Print the statements. The table format prints only statements, so that it can be piped into spark-sql."""
    from kconf.lake.register import statements

    found = list(statements(begin(options, answer), options.database, views=options.views))
    answer.is_plain = True
    answer.columns = [ResultColumn("table"), ResultColumn("statement")]
    if options.output == "table":
        for each in found:
            print(f"{each.sql};")
        return
    answer.items += [{"table": each.table or None, "statement": each.sql} for each in found]
