"""Checks the arguments before anything is sent, in the order of Kafka's tool."""

from __future__ import annotations

from kconf.cli.compat.kafka_configs.arguments import Arguments, InvalidArguments
from kconf.cli.compat.kafka_configs.entities import (
    BROKERS,
    CLIENTS,
    IPS,
    LOGGERS,
    TOPICS,
    TYPES,
    USERS,
    WITH_DEFAULT,
    Entities,
    entities,
    has_long,
    has_short,
)

INT32 = range(-(2**31), 2**31)


def check(arguments: Arguments) -> Entities:
    """The entities named by the arguments; raises `InvalidArguments` for the first error."""
    _action(arguments)
    given = entities(arguments)
    twice = [kind for place, kind in enumerate(given.types) if kind in given.types[:place]]
    if twice:
        raise InvalidArguments(f"Duplicate entity type(s) specified: {','.join(twice)}")
    _connection(arguments)
    _types(arguments, given)
    if arguments.has("entity-regex") or arguments.has("entity-names-file"):
        from kconf.cli.compat.kafka_configs.many import check as check_many

        given = check_many(arguments, given)
    _names(arguments, given)
    if arguments.has("describe"):
        _describe(arguments, given)
    else:
        _alter(arguments, given)
    _extensions(arguments, given)
    return given


def _action(arguments: Arguments) -> None:
    if arguments.has("alter") == arguments.has("describe"):
        raise InvalidArguments("Command must include exactly one action: --describe, --alter", usage=True)
    if arguments.has("describe"):
        for option in ("add-config", "delete-config"):
            if arguments.has(option):
                raise InvalidArguments(f"""Option "[describe]" can't be used with option "[{option}]\"""", usage=True)


def _connection(arguments: Arguments) -> None:
    server, controller = arguments.one("bootstrap-server"), arguments.one("bootstrap-controller")
    if server is None and controller is None:
        raise InvalidArguments("Either --bootstrap-server or --bootstrap-controller must be specified.")
    if server is not None and controller is not None:
        raise InvalidArguments("Only one of --bootstrap-server or --bootstrap-controller can be specified")


def _types(arguments: Arguments, given: Entities) -> None:
    for kind in given.types:
        if kind not in TYPES:
            raise InvalidArguments(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(TYPES)} "
                "with a --bootstrap-server or --bootstrap-controller argument"
            )
    if not given.types:
        raise InvalidArguments("At least one entity type must be specified")
    if len(given.types) > 1 and set(given.types) != {USERS, CLIENTS}:
        raise InvalidArguments("Only 'users' and 'clients' entity types may be specified together")
    if has_long(arguments) and has_short(arguments):
        raise InvalidArguments(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )


def _names(arguments: Arguments, given: Entities) -> None:
    for name in filter(None, given.names):
        if given.head in (BROKERS, LOGGERS):
            if not _is_int32(name):
                raise InvalidArguments(
                    f"The entity name for {given.head} must be a valid integer broker id, but it is: {name}"
                )
        elif given.head == IPS and not arguments.has("no-resolve") and not _resolves(name):
            raise InvalidArguments(
                f"The entity name for {given.head} must be a valid IP or resolvable host, but it is: {name}"
            )


def _is_int32(name: str) -> bool:
    digits = name[1:] if name[:1] in ("+", "-") else name
    return digits.isdecimal() and len(digits.lstrip("0")) <= 10 and int(name[-11:]) in INT32


def _resolves(name: str) -> bool:
    import socket

    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _describe(arguments: Arguments, given: Entities) -> None:
    if given.head == TOPICS and given.names:
        if arguments.has("entity-default"):
            raise InvalidArguments(f"--entity-default must not be specified with --describe of {given.head}")
        for name in given.names:
            _topic_name(name)
    elif arguments.has("entity-default") and given.head not in WITH_DEFAULT:
        raise InvalidArguments(f"--entity-default must not be specified with --describe of {given.head}")
    if given.head == LOGGERS and not given.name and not arguments.has("entity-regex"):
        raise InvalidArguments(f"An entity name must be specified with --describe of {given.head}")


def _topic_name(name: str) -> None:
    if not name:
        raise InvalidArguments("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise InvalidArguments(f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > 249:
        raise InvalidArguments(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length 249"
        )
    if not (name.isascii() and name.replace(".", "a").replace("_", "a").replace("-", "a").isalnum()):
        raise InvalidArguments(
            f"Topic name is invalid: '{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )


def _alter(arguments: Arguments, given: Entities) -> None:
    if arguments.has("entity-regex"):
        pass  # the names are not known yet
    elif given.head in WITH_DEFAULT:
        if not given.names:
            raise InvalidArguments(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not given.name:
        raise InvalidArguments(f"An entity name must be specified with --alter of {given.head}")
    inline, file = arguments.one("add-config"), arguments.one("add-config-file")
    if inline is not None and file is not None:
        raise InvalidArguments("Only one of --add-config or --add-config-file must be specified")
    if inline is None and file is None and not arguments.has("delete-config"):
        raise InvalidArguments(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )


def _extensions(arguments: Arguments, given: Entities) -> None:
    if arguments.one("output") not in (None, "text", "json"):
        raise InvalidArguments("--output must be text or json")
    if arguments.has("dry-run") and arguments.has("describe"):
        raise InvalidArguments("--dry-run requires --alter")
    if given.head in (USERS, CLIENTS, IPS) and len(given.names) > len(given.types) and arguments.has("describe"):
        raise InvalidArguments("More entity names specified than entity types")
    if arguments.has("strict-compat"):
        if given.head in (BROKERS, LOGGERS):
            arguments.one("entity-name")
        return
    if arguments.rest:
        raise InvalidArguments(f"{arguments.rest[0]!r} is not an option; a value with spaces needs quotes")
