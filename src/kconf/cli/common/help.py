"""Help texts: description, examples (which a test runs), exit codes and related commands."""

from __future__ import annotations

import argparse


def add_verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, brief: str, about: str, examples: str = ""
) -> argparse.ArgumentParser:
    """Add a subcommand. Its help has those examples of the command that use it."""
    own = examples_of(f"{verbs._prog_prefix} {name}", examples)
    return verbs.add_parser(name, help=brief, description=about, epilog=own)


def examples_of(command: str, examples: str) -> str:
    """The lines of a help text that begin with this command; a line may continue after a backslash."""
    found: list[str] = []
    goes_on = False
    for line in examples.splitlines():
        if goes_on or line.startswith(f"  {command} ") or line == f"  {command}":
            found.append(line)
            goes_on = line.endswith("\\")
    return "\n".join(["examples:", *found]) if found else ""


def share_examples(parser: argparse.ArgumentParser) -> None:
    """Copy the command's examples to the subcommands that they use, if those have no examples."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for verb in dict.fromkeys(verb for each in below for verb in each.choices.values()):
        if verb.epilog is None and parser.epilog is not None:
            verb.epilog = examples_of(verb.prog, parser.epilog) or None
        share_examples(verb)


class Help(argparse.HelpFormatter):
    """Wraps sentences at the width of the terminal; indented text, such as examples, is not wrapped."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import fill

        def filled(block: str) -> str:
            return fill(" ".join(block.split()), width, break_on_hyphens=False)  # an option is not split

        return "\n\n".join(each if "\n " in f"\n{each}" else filled(each) for each in text.strip().split("\n\n"))


_DIFFER = ("kconf plan", "kconf diff", "kconf lake drift", "kconf lake compare")
_LOCAL = "0 success; 1 failed; 2 usage error"
_SPECIAL = {
    "kconf explain": _LOCAL,
    **{f"kconf context {verb}": _LOCAL for verb in ("list", "use", "show", "add", "remove")},
    "kconf store verify": _LOCAL,
    "kconf lake backtest": "0 no `error` rule violated; 1 failed; 2 usage error or invalid policy; 3 violations found",
    "kconf lake": "0 success; 1 failed; 2 usage error; 3 differences, inconsistencies or violations found; 4 cannot"
    " connect or log in",
    "kconf lake integrity": "0 no inconsistencies; 1 failed; 2 usage error; 3 inconsistencies found",
    "kconf lake violations": "0 no `error` rule violated; 1 failed; 2 usage error; 3 violations found",
    "kconf policy test": "0 no violations; 1 violations; 2 usage error or invalid policy; 4 cannot connect or log in",
    "kconf watch": "0 success; 1 failed; 2 usage error; 4 cannot connect or log in",
    "kconf check": "0 no problems; 1 failed; 2 usage error; 3 problems found; 4 cannot connect or log in",
    "kconf follow": "0 stopped; 1 failed; 2 usage error; 4 cannot connect or log in",
    "kconf shell": "0 success; otherwise that of the first command that failed",
    "kconf policy check": "0 valid; 2 usage error or invalid policy",
}
_SEE = {
    "context": "kconf describe, kconf shell; docs/how-to/contexts.md",
    "describe": "kconf explain, kconf set, kconf blame; docs/how-to/contexts.md",
    "explain": "kconf describe, kconf set; docs/reference/keys.md",
    **dict.fromkeys(
        ("set", "unset", "append", "subtract"),
        "kconf explain, kconf history, kconf rollback; docs/how-to/safe-changes.md",
    ),
    "topic": "kconf describe, kconf set; docs/how-to/safe-changes.md",
    "quota": "kconf describe, kconf history; docs/how-to/quotas.md",
    "acl": "kconf scram, kconf history; docs/security.md",
    "scram": "kconf acl, kconf context; docs/security.md",
    "export": "kconf plan, kconf apply; docs/how-to/declare.md",
    "plan": "kconf export, kconf apply, kconf diff; docs/how-to/declare.md",
    "apply": "kconf plan, kconf rollback; docs/how-to/declare.md",
    "history": "kconf blame, kconf rollback, kconf watch; docs/how-to/history.md",
    "blame": "kconf history, kconf describe; docs/how-to/history.md",
    "diff": "kconf history, kconf plan; docs/how-to/history.md",
    "rollback": "kconf history, kconf diff; docs/how-to/history.md",
    "watch": "kconf follow, kconf history; docs/how-to/history.md",
    "check": "kconf follow, kconf describe; docs/how-to/follow.md",
    "follow": "kconf watch, kconf history, kconf pipeline; docs/how-to/follow.md",
    "serve": "kconf backup, kconf policy, kconf archive; docs/how-to/run-a-server.md, docs/operations.md",
    "console": "kconf context, kconf serve, kconf history; docs/how-to/console.md",
    "policy": "kconf serve, kconf set; docs/how-to/write-a-policy.md",
    "backup": "kconf serve, kconf store; docs/operations.md",
    "store": "kconf backup, kconf serve; docs/operations.md",
    "archive": "kconf serve, kconf pipeline; docs/how-to/archive.md",
    "snapshot": "kconf pipeline, kconf export; docs/how-to/pipeline.md",
    "pipeline": "kconf archive, kconf snapshot, kconf lake; docs/how-to/pipeline.md",
    "lake": "kconf pipeline, kconf history; docs/how-to/ask-the-lake.md",
    "shell": "kconf completion; docs/how-to/contexts.md",
    "completion": "kconf shell; docs/how-to/contexts.md",
    "config-command": "kconf describe, kconf set, kconf quota; docs/how-to/kafka-configs.md",
    "kafka": "kconf set, kconf quota; docs/how-to/kafka-configs.md",
    "scram-credentials": "kconf scram; docs/security.md",
}
"""Related commands and pages of each command."""


def ends_of(parser: argparse.ArgumentParser) -> list[str]:
    """The last lines of a command's help: exit codes and related commands."""
    first = parser.prog.split()[1]
    return [f"exit codes: {_codes(parser)}", f"see also: {_SEE[first]}"]


def _codes(parser: argparse.ArgumentParser) -> str:
    if parser.prog in _SPECIAL:
        return _SPECIAL[parser.prog]
    if not _has_result(parser):
        return _LOCAL
    differences = "3 differences found; " if parser.prog in _DIFFER else ""
    return f"0 success; 1 failed; 2 usage error; {differences}4 cannot connect or log in"


def _has_result(parser: argparse.ArgumentParser) -> bool:
    """Whether the command or one of its subcommands has the exit codes of output/result.py."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    verbs = [verb for each in below for verb in each.choices.values()]
    run = parser.get_default("run")
    return any(map(_has_result, verbs)) or getattr(run, "__module__", "") == "kconf.cli.common.command"
