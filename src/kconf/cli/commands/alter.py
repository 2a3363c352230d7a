"""`kconf set`, `unset`, `append`, `subtract`: change keys of one resource or thousands."""

from __future__ import annotations

import argparse
from typing import Final

from kconf.cli.common.command import command
from kconf.cli.common.confirm import add_bulk, add_change
from kconf.cli.common.execute import execute
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult
from kconf.cli.terminal.input import prompt_secret, read_stdin
from kconf.errors import ConfigurationError
from kconf.model.alteration import OpType
from kconf.operations.selection.selectors import is_selector, parse_selector, parse_selectors

_VERBS: Final = {
    "set": (
        OpType.SET,
        "set configs of topics, brokers and groups",
        "KEY=VALUE",
        "Set configs. Values may have units: 7d, 1GiB.",
    ),
    "unset": (
        OpType.DELETE,
        "remove configs, so that inherited values apply",
        "KEY",
        "Remove configs, so that inherited values apply.",
    ),
    "append": (
        OpType.APPEND,
        "append items to a list config",
        "KEY=ITEM[,ITEM]",
        "Append items to list configs. Items already in the list are kept.",
    ),
    "subtract": (
        OpType.SUBTRACT,
        "remove items from a list config",
        "KEY=ITEM[,ITEM]",
        "Remove items from list configs.",
    ),
}
EXAMPLES: Final = {
    "set": """\
examples:
  kconf set topic:orders retention.ms=7d max.message.bytes=2MiB
  kconf set 'topic:logs.*' segment.bytes=256MiB --dry-run
  kconf set topic:@names.txt compression.type=zstd --yes --resume done.txt --rate 500
  kconf set broker:default log.cleaner.threads=2 --yes
  kconf set broker:1 listener.name.sasl.ssl.keystore.password=@/run/secrets/keystore --dry-run

To keep a secret off the command line, read the value from a file (@FILE), from an environment variable (env:NAME), or
from a prompt (-). For a value that starts with @ or env:, write @@ or \\env:.
""",
    "unset": """\
examples:
  kconf unset topic:orders max.message.bytes
  kconf unset 'topic:/^logs/' segment.bytes --yes
""",
    "append": """\
examples:
  kconf append topic:orders cleanup.policy=compact --allow-risk data-loss,compaction
""",
    "subtract": """\
examples:
  kconf subtract topic:orders cleanup.policy=compact
""",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for verb, (op, brief, form, about) in _VERBS.items():
        parser = commands.add_parser(
            verb,
            help=brief,
            description=f"{about} Changes to several resources (patterns) or to a default ask for confirmation.",
            epilog=EXAMPLES[verb],
        )
        parser.add_argument(
            "arguments", metavar=f"RESOURCE… {form}…", nargs="+", help="resources to change, then the configs"
        )
        add_change(parser)
        add_bulk(parser)
        add_target(parser)
        parser.set_defaults(run=command(verb, alter), op=op, rest="arguments")


def alter(options: argparse.Namespace, result: CommandResult) -> None:
    selectors = parse_selectors((each for each in options.arguments if is_selector(each)), read_stdin)
    rest = [each for each in options.arguments if not is_selector(each)]
    if not selectors:
        if "=" not in rest[0]:
            parse_selector(rest[0])  # raises an error with the reason
        raise ConfigurationError(f"kconf {result.command} needs a resource, for example topic:NAME")
    kinds = {each.type for each in selectors}
    if len(kinds) > 1:
        raise ConfigurationError("cannot change several resource types at once; run the command once per type")
    from kconf.operations.assignments import parse_assignments

    cluster = target(options)
    cluster.check_writable()
    kind = kinds.pop()
    ops = parse_assignments(options.op, kind, rest, prompt_secret)
    with cluster.open() as admin:
        from kconf.operations.configs import alter_request, keys_not_set, not_described
        from kconf.operations.key_notes import unknown_key_notes

        request = alter_request(result.command, admin, selectors, ops, options.reason)
        result.notes += [
            f"{key} is not set on any of these resources; nothing to remove" for key in keys_not_set(request.plan)
        ]
        hidden = not_described(request.plan)
        if hidden:
            more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
            result.notes.append(f"not authorized to describe {hidden[0]}{more}: the current values are unknown")
        execute(result, options, cluster, admin, request)
        if options.op is not OpType.DELETE and not result.failed:
            result.notes += unknown_key_notes(admin.cluster_release(), ((kind, each.key) for each in ops))
