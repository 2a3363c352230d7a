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


def share_examples(parser: argparse.ArgumentParser) -> None:
    """Give those of a command's verbs that have no examples of their own the command's that use them."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for verb in dict.fromkeys(verb for each in below for verb in each.choices.values()):
        if verb.epilog is None and parser.epilog is not None:
            verb.epilog = examples_of(verb.prog, parser.epilog) or None
            verb.formatter_class = argparse.RawDescriptionHelpFormatter
        share_examples(verb)
