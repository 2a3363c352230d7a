"""The outcomes of requests to the cluster, and which of the changes that were read belong in the journal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.plan import Refusals, refusal_of
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot, topic_to_json
from kconf.store.upstream.journal import Intent, IntentOutcome


def sent_outcome(changes: Iterable[Change], refused: Refusals, done: Collection[Resource]) -> IntentOutcome:
    """The outcome of a request that was answered."""
    accepted = {each.resource for each in changes if refusal_of(refused, each.resource, each.key) is None}
    if not accepted:
        return IntentOutcome.REFUSED
    return IntentOutcome.DONE if accepted <= set(done) else IntentOutcome.UNKNOWN


def is_untouched(intent: Intent, snapshot: Snapshot) -> bool:
    """Whether the state shows no effect of a request.

    False if a value is neither the old nor the new one: another client set it, perhaps after the request was executed.
    Also False for sensitive values, since it is unknown whether they were replaced.
    """
    return all(_is_as_before(change, snapshot) for change in intent.planned.changes)


def _is_as_before(change: Change, snapshot: Snapshot) -> bool:
    current = snapshot.overrides(change.resource).get(change.key)
    if change.kind is ChangeKind.TOPIC:
        topic = snapshot.topics.get(change.resource.name)
        return (None if topic is None else topic_to_json(topic)) == change.before
    if not change.sensitive:
        return current == change.before
    is_replaced = change.before is not None and change.after is not None
    return not is_replaced and (current is None) == (change.before is None)


def without_rewrites(revisions: Sequence[Revision]) -> list[Revision]:
    """Remove records that do not change a value, except those of brokers, which make a broker reload its files."""
    found = []
    for each in revisions:
        changes = tuple(one for one in each.changes if one.op != "rewrite" or one.resource.type is ResourceType.BROKER)
        if changes:
            found.append(each if len(changes) == len(each.changes) else replace(each, changes=changes))
    return found
