"""The steps of `kafka-configs`: parse the command line, check it, send the requests, exit with 0 or 1."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING

from kconf.cli import collect_rarely
from kconf.cli.compat.kafka_configs.arguments import Arguments, InvalidArguments
from kconf.cli.compat.kafka_configs.checks import check
from kconf.cli.output.safe_text import guarded_output
from kconf.errors import KafkaError, KconfError

if TYPE_CHECKING:
    from kconf.cli.compat.kafka_configs.entities import Entities
    from kconf.client.admin_sync import SyncAdminClient


def main(argv: Sequence[str] | None = None) -> int:
    collect_rarely()
    raw_arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may have characters that the terminal cannot show
    with guarded_output():
        return _guarded(raw_arguments)


def _guarded(raw_arguments: list[str]) -> int:
    try:
        status = _main(raw_arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`; Java's tool ignores it, but changes may have been left out here
        from kconf.cli.output.pipes import SIGPIPE_STATUS, discard_output

        discard_output()
        return SIGPIPE_STATUS if "--alter" in raw_arguments else 0
    except KeyboardInterrupt:
        return 130
    return status


def _main(raw_arguments: list[str]) -> int:
    strict = "--strict-compat" in raw_arguments
    try:
        if any("\udc80" <= character <= "\udcff" for each in raw_arguments for character in each):
            raise InvalidArguments("The command line is not UTF-8")
        arguments = Arguments(raw_arguments)
        if not raw_arguments or arguments.has("help"):
            return _help(raw_arguments, strict)
        if arguments.has("version"):
            return _version(strict)
        given = check(arguments)
    except KconfError as error:
        print(error, file=sys.stderr)
        if isinstance(error, InvalidArguments) and error.usage:
            from kconf.cli.compat.kafka_configs.help import OPTIONS

            print(OPTIONS, file=sys.stderr)
        return 1
    try:
        return _run(arguments, given)
    except InvalidArguments as error:
        print(error, file=sys.stderr)
    except KconfError as error:
        if arguments.has("debug"):
            import traceback

            traceback.print_exc()
        _complain(arguments, given, error)
    return 1


def _run(arguments: Arguments, given: Entities) -> int:
    strict, json = arguments.has("strict-compat"), arguments.one("output") == "json"
    if not strict:
        from kconf.cli.compat.kafka_configs.entities import paired_with_a_later_type

        doubtful = paired_with_a_later_type(arguments)
        if doubtful:
            print(f"Note: {doubtful}.", file=sys.stderr)
    if arguments.has("alter"):
        from kconf.cli.compat.kafka_configs.alter import alter
        from kconf.cli.compat.kafka_configs.alter_output import AlterOptions
        from kconf.cli.compat.kafka_configs.grammar import config_specs

        specs = config_specs(arguments)
        options = AlterOptions(
            strict=strict, json=json, dry_run=arguments.has("dry-run"), reason=arguments.one("reason")
        )
        with _client(arguments) as admin:
            return alter(admin, _matched(admin, arguments, given), specs, options)
    from kconf.cli.compat.kafka_configs.describe import RESOURCE_TYPES, DescribeOptions, describe_resources

    with _client(arguments) as admin:
        if given.head in RESOURCE_TYPES:
            given = _matched(admin, arguments, given)
            how = DescribeOptions(all_values=arguments.has("all"), strict=strict, json=json)
            return describe_resources(admin, given, how)
        from kconf.cli.compat.kafka_configs.quotas import describe_quotas

        return describe_quotas(admin, given, json=json)


def _matched(admin: SyncAdminClient, arguments: Arguments, given: Entities) -> Entities:
    regex = arguments.one("entity-regex")
    if regex is None:
        return given
    from kconf.cli.compat.kafka_configs.many import matched

    return matched(admin, given, regex)


def _client(arguments: Arguments) -> SyncAdminClient:
    """A client. Addresses come only from the command line and override those of the file, as in Kafka's tool."""
    from kconf.client.admin_sync import SyncAdminClient

    servers = arguments.one("bootstrap-server") or ""
    controllers = arguments.one("bootstrap-controller") or ""
    file = arguments.one("command-config")
    if file is None:
        return SyncAdminClient(servers, bootstrap_controllers=controllers, client_id="kafka-configs")
    return SyncAdminClient.from_properties(file, servers, bootstrap_controllers=controllers)


def _complain(arguments: Arguments, given: Entities, error: KconfError) -> None:
    """Print the error in one line. With `--strict-compat` in two, as in Kafka: first the command line without its
    secrets.
    """
    from kconf.cli.compat.kafka_configs.java import PACKAGE, sentence
    from kconf.cli.compat.kafka_configs.secrets import masked, scrubbed

    message = sentence(error) if isinstance(error, KafkaError) else str(error)
    message = scrubbed(message, given.head, _added(arguments))
    if arguments.has("strict-compat"):
        shown = masked([each for each in arguments.argv if each != "--strict-compat"], given.head)
        print(f"Error while executing config command with args '{shown}'", file=sys.stderr)
        if isinstance(error, KafkaError):
            message = f"java.util.concurrent.ExecutionException: {PACKAGE}{message}"
    print(message, file=sys.stderr)


def _added(arguments: Arguments) -> Mapping[str, str]:
    from kconf.cli.compat.kafka_configs.grammar import config_specs

    try:
        return config_specs(arguments).add
    except KconfError:
        return {}  # nothing was sent


def _help(raw_arguments: list[str], strict: bool) -> int:
    from kconf.cli.compat.kafka_configs.help import help_text

    stream = sys.stderr if strict or not raw_arguments else sys.stdout
    print(help_text(), file=stream)
    return 1 if strict or not raw_arguments else 0


def _version(strict: bool) -> int:
    from kconf.version import __version__

    print("4.3.1" if strict else f"kconf {__version__} (as kafka-configs of Kafka 4.3.1)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
