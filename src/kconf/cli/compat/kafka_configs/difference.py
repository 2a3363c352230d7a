"""The output of a dry run: what would change, key by key. Secrets are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kconf.cli.compat.kafka_configs.secrets import is_secret
from kconf.configdef.sensitive import HIDDEN
from kconf.model.entry import SOURCE_NAMES, Source, own_source
from kconf.model.resource import Resource

if TYPE_CHECKING:
    from kconf.cli.compat.kafka_configs.grammar import ConfigSpecs
    from kconf.model.entry import Entry, View
    from kconf.model.quota import QuotaEntity


class DifferenceLine(NamedTuple):
    """One key; None if not set. `note` is the source of an inherited value."""

    key: str
    old: str | None
    new: str | None
    note: str = ""

    def __str__(self) -> str:
        old, new = ("(unset)" if each is None else each for each in (self.old, self.new))
        note = f" ({self.note})" if self.note else ""
        same = self.old == self.new and self.old != HIDDEN
        return f"  {self.key}: {old} (unchanged){note}" if same else f"  {self.key}: {old} -> {new}{note}"


class DryRunDifference(NamedTuple):
    entity: str
    changes: Sequence[DifferenceLine]
    validated: bool = True

    def lines(self) -> list[str]:
        how = "the server accepts this change to" if self.validated else "this would change for"
        return [f"Dry run, nothing was changed; {how} {self.entity}:", *map(str, self.changes)]

    def as_json(self) -> dict[str, Any]:
        return {
            "dryRun": True,
            "validated": self.validated,
            "entity": self.entity,
            "changes": [
                {"name": each.key, "old": each.old, "new": each.new, **({"note": each.note} if each.note else {})}
                for each in self.changes
            ],
        }


def own_values(resource: Resource, view: View) -> dict[str, Entry]:
    """The values set on the resource itself."""
    own = own_source(resource)
    return {entry.name: entry for entry in view.entries if entry.source is own}


def of_configs(kind: str, resource: Resource, view: View, specs: ConfigSpecs) -> DryRunDifference:
    entries = {entry.name: entry for entry in view.entries}
    changes = []
    for key, value in specs.add.items():
        entry = entries.get(key)
        if is_secret(kind, key) or (entry is not None and entry.sensitive):
            changes.append(DifferenceLine(key, None if entry is None or not _is_set(entry) else HIDDEN, HIDDEN))
        else:
            changes.append(DifferenceLine(key, entry.value if entry else None, value))
    own = own_source(resource)
    changes.extend(_deleted(kind, key, entries.get(key), own) for key in specs.delete)
    return DryRunDifference(str(resource), changes)


def _is_set(entry: Entry) -> bool:
    return entry.source is not Source.DEFAULT


def _deleted(kind: str, key: str, entry: Entry | None, own: Source) -> DifferenceLine:
    if entry is None or entry.source is not own:
        value = HIDDEN if entry is not None and entry.sensitive else entry.value if entry is not None else None
        return DifferenceLine(key, value, value, "nothing to delete")
    if entry.sensitive or is_secret(kind, key):
        return DifferenceLine(key, HIDDEN, None)
    below = [each for each in entry.synonyms if each.source is not own]
    if not below:
        return DifferenceLine(key, entry.value, None)
    return DifferenceLine(key, entry.value, below[0].value, f"{SOURCE_NAMES[below[0].source]}:{below[0].name}")


def of_quotas(
    entity: QuotaEntity, before: Mapping[str, float], changes: Mapping[str, float | None]
) -> DryRunDifference:
    from kconf.configdef.java.parsing import java_double

    def text(value: float | None) -> str | None:
        return None if value is None else java_double(value)

    return DryRunDifference(
        str(entity), [DifferenceLine(key, text(before.get(key)), text(value)) for key, value in changes.items()]
    )


def of_credentials(
    user: str, before: Mapping[str, int], after: Mapping[str, int], deleted: Sequence[str]
) -> DryRunDifference:
    """The changes of credentials. Servers cannot validate them, because the API has no dry run."""

    def text(iterations: int | None) -> str | None:
        return None if iterations is None else f"[hidden], iterations={iterations}"

    changes = [
        DifferenceLine(key, text(before.get(key)), text(count), "a new password") for key, count in after.items()
    ]
    changes += [DifferenceLine(key, text(before.get(key)), None) for key in deleted]
    return DryRunDifference(f"user {user!r}", changes, validated=False)
