"""Help texts: what a command is for, and examples of it, which a test runs."""

from __future__ import annotations

import argparse


def add_verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, brief: str, about: str, examples: str = ""
) -> argparse.ArgumentParser:
    """A verb of a command; of the command's examples its help has those that use it."""
    own = examples_of(f"{verbs._prog_prefix} {name}", examples)
    return verbs.add_parser(
        name, help=brief, description=about, epilog=own, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def examples_of(command: str, examples: str) -> str:
    """Those lines of a help text that begin with this command; one may go on behind a backslash."""
    found: list[str] = []
    goes_on = False
    for line in examples.splitlines():
        if goes_on or line.startswith(f"  {command} ") or line == f"  {command}":
            found.append(line)
            goes_on = line.endswith("\\")
    return "\n".join(["examples:", *found]) if found else ""
