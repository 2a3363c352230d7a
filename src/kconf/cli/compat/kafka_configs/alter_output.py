"""The options of `--alter`, and what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconf.cli.compat.kafka_configs.entities import Entities, singular

if TYPE_CHECKING:
    from kconf.cli.compat.kafka_configs.difference import DryRunDifference
    from kconf.cli.compat.kafka_configs.grammar import ConfigSpecs


class AlterOptions:
    def __init__(
        self, *, strict: bool = False, json: bool = False, dry_run: bool = False, reason: str | None = None
    ) -> None:
        self.strict, self.json, self.dry_run, self.reason = strict, json, dry_run, reason


def completed(given: Entities, options: AlterOptions, specs: ConfigSpecs, name: str | None = None) -> None:
    """Print that the entity was altered."""
    name = given.names[0] if name is None else name
    if options.json:
        from json import dumps

        entity = dict(zip(given.types, (each or None for each in given.names), strict=False))
        entity = {given.head: name or None} if len(given.types) == 1 else entity
        print(dumps({"altered": entity, "set": sorted(specs.add), "deleted": sorted(specs.delete)}))
    elif name:
        print(f"Completed updating config for {singular(given.head)} {name}.")
    else:
        print(f"Completed updating default config for {given.head} in the cluster.")


def print_difference(difference: DryRunDifference, options: AlterOptions) -> None:
    if options.json:
        from json import dumps

        print(dumps(difference.as_json(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(difference.lines()))
