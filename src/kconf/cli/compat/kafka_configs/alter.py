"""`--alter`: one request, always incremental, and one line for each altered entity.

A dry run lets the server validate if the API supports that, and prints the old and new value of each key.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kconf.cli.compat.kafka_configs.alter_output import AlterOptions, completed, print_difference
from kconf.cli.compat.kafka_configs.arguments import InvalidArguments
from kconf.cli.compat.kafka_configs.describe import RESOURCE_TYPES
from kconf.cli.compat.kafka_configs.entities import CLIENTS, IPS, LOGGERS, USERS, Entities, singular
from kconf.errors import InvalidRequest, KafkaError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kconf.cli.compat.kafka_configs.grammar import ConfigSpecs
    from kconf.client.admin_sync import SyncAdminClient

CLIENT_QUOTAS: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_QUOTAS: Final = ("connection_creation_rate",)
MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
TIMEOUT: Final = 60.0


def alter(admin: SyncAdminClient, given: Entities, specs: ConfigSpecs, options: AlterOptions) -> int:
    several = len(given.types) == 1 and given.head in RESOURCE_TYPES and not options.strict
    if len(given.types) != len(given.names) and not (several and given.names):
        raise InvalidArguments("An entity name must be specified for every entity type")
    if given.head in RESOURCE_TYPES:
        return _resources(admin, given, specs, options)
    if given.head == IPS:
        unexpected = list(dict.fromkeys(key for key in (*specs.add, *specs.delete) if key not in IP_QUOTAS))
        if unexpected:
            raise InvalidArguments(
                "Only connection quota configs can be added for 'ips' using --bootstrap-server. "
                f"Unexpected config names: {','.join(unexpected)}"
            )
        return _quotas(admin, given, specs, options)
    if _is_about_credentials(given, specs):
        from kconf.cli.compat.kafka_configs.credentials import alter_credentials

        return alter_credentials(admin, given, specs, options)
    return _quotas(admin, given, specs, options)


def _resources(admin: SyncAdminClient, given: Entities, specs: ConfigSpecs, options: AlterOptions) -> int:
    resources = [Resource(RESOURCE_TYPES[given.head], name) for name in dict.fromkeys(given.names)]
    if given.head == LOGGERS:
        _check_loggers(admin, resources, (*specs.add, *specs.delete))
    if options.dry_run:
        return _dry_run(admin, given, resources, specs, options)
    unset = {} if options.strict or not specs.delete else _unset(admin, resources, specs.delete)
    results = admin.incremental_alter_configs(
        dict.fromkeys(resources, alterations(specs)), reason=options.reason, timeout=TIMEOUT
    )
    if len(resources) == 1:
        results[resources[0]]  # raises its error
    failures = results.failures
    for resource in resources:
        if resource in failures:
            _failed(given, resource, failures[resource].error(), specs)
        else:
            completed(given, options, specs, resource.name)
            for key in unset.get(resource, ()):
                print(f"Note: {resource} does not set {key}; nothing to delete.", file=sys.stderr)
    return 1 if failures else 0


def alterations(specs: ConfigSpecs) -> Sequence[AlterConfigOp]:
    """The operations in the order of Kafka's tool: sets first, then deletes, with an empty value."""
    return [
        *(AlterConfigOp(OpType.SET, key, value) for key, value in specs.add.items()),
        *(AlterConfigOp(OpType.DELETE, key, "") for key in specs.delete),
    ]


def _failed(given: Entities, resource: Resource, error: KafkaError, specs: ConfigSpecs) -> None:
    from kconf.cli.compat.kafka_configs.java import sentence
    from kconf.cli.compat.kafka_configs.secrets import scrubbed

    who = f"{singular(given.head)} {resource.name}" if resource.name else f"the default of {given.head}"
    print(f"{who}: {scrubbed(sentence(error), given.head, specs.add)}", file=sys.stderr)


def _check_loggers(admin: SyncAdminClient, resources: Sequence[Resource], names: Sequence[str]) -> None:
    known = admin.describe_configs(resources, timeout=TIMEOUT)
    for resource in resources:
        there = {entry.name for entry in known[resource].entries}
        unknown = [name for name in dict.fromkeys(names) if name not in there]
        if unknown:
            raise InvalidArguments(f"Invalid broker logger(s): {','.join(unknown)}")


def _unset(admin: SyncAdminClient, resources: Sequence[Resource], names: Sequence[str]) -> dict[Resource, list[str]]:
    """The keys to delete that are not set. They may be misspelled, which servers do not report."""
    from kconf.cli.compat.kafka_configs.difference import own_values

    try:
        found = admin.describe_configs(resources, timeout=TIMEOUT)
    except KafkaError:
        return {}  # a principal may be allowed to alter but not to describe
    failures = found.failures
    return {
        each: [name for name in dict.fromkeys(names) if name not in own_values(each, found[each])]
        for each in resources
        if each not in failures
    }


def _dry_run(
    admin: SyncAdminClient, given: Entities, resources: Sequence[Resource], specs: ConfigSpecs, options: AlterOptions
) -> int:
    from kconf.cli.compat.kafka_configs.difference import of_configs

    before = admin.describe_configs(resources, synonyms=True, timeout=TIMEOUT)
    results = admin.incremental_alter_configs(
        dict.fromkeys(resources, alterations(specs)), validate_only=True, timeout=TIMEOUT
    )
    if len(resources) == 1:
        results[resources[0]]
    status = 0
    for resource in resources:
        try:
            results[resource]
            print_difference(of_configs(given.head, resource, before[resource], specs), options)
        except KafkaError as error:
            _failed(given, resource, error, specs)
            status = 1
    return status


def _is_about_credentials(given: Entities, specs: ConfigSpecs) -> bool:
    """Whether the keys are credentials, not quotas. Raises `InvalidArguments` if they are neither or both."""
    with_client = CLIENTS in given.types
    allowed = CLIENT_QUOTAS if with_client else (*CLIENT_QUOTAS, *MECHANISMS)
    kinds = "quota" if with_client else "quota and SCRAM credential"
    for what, names, collection in (("added", specs.add, "Set"), ("deleted", specs.delete, "ArrayBuffer")):
        unexpected = [key for key in names if key not in allowed]
        if unexpected:
            unexpected.sort(key=lambda key: key in MECHANISMS)
            raise InvalidArguments(
                f"Only {kinds} configs can be {what} for '{CLIENTS if with_client else USERS}' using "
                f"--bootstrap-server. Unexpected config names: {collection}({', '.join(unexpected)})"
            )
    named: Collection[str] = (*specs.add, *specs.delete)
    if not any(key in MECHANISMS for key in named):
        return False
    if "" in given.names:
        raise InvalidArguments(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials "
            "using --bootstrap-server."
        )
    if any(key in CLIENT_QUOTAS for key in named):
        raise InvalidArguments(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )
    return True


def _quotas(admin: SyncAdminClient, given: Entities, specs: ConfigSpecs, options: AlterOptions) -> int:
    from kconf.cli.compat.kafka_configs.quotas import entity_of, filter_of

    entity = entity_of(given)
    before = admin.describe_client_quotas(filter_of(given), timeout=TIMEOUT).get(entity, {})
    unset = [key for key in specs.delete if key not in before]
    if unset:
        raise InvalidArguments(f"Invalid config(s): {','.join(unset)}")
    changes: dict[str, float | None] = {key: _number(key, text) for key, text in specs.add.items()}
    both = [key for key in specs.delete if key in changes]
    if both:
        raise InvalidRequest(f"{', '.join(both)} cannot be both added and deleted")
    changes.update(dict.fromkeys(specs.delete))
    results = admin.alter_client_quotas({entity: changes}, validate_only=options.dry_run, timeout=TIMEOUT)
    results[entity]
    if options.dry_run:
        from kconf.cli.compat.kafka_configs.difference import of_quotas

        print_difference(of_quotas(entity, before, changes), options)
    else:
        completed(given, options, specs)
    return 0


def _number(key: str, text: str) -> float:
    from kconf.configdef.java.parsing import InvalidValue, parse
    from kconf.model.entry import ValueType

    try:
        value = parse(ValueType.DOUBLE, text)
    except InvalidValue:
        raise InvalidArguments(f"Cannot parse quota configuration value for {key}: {text}") from None
    assert isinstance(value, float)
    return value
