"""The risks of a proposed change, found on the server. Quota risks are not: the server does not know actual usage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kconf.engine.policy.hooks import AlterProposal, Effective, TopicProposal
from kconf.engine.policy.topic_defaults import TopicDefaults
from kconf.engine.risks import MIN_INSYNC, STATE_KEYS, Risk, RiskName, data_loss, shut_out, state_risks, topic_risks
from kconf.model.resource import ResourceType


def alter_risks(proposal: AlterProposal) -> list[Risk]:
    if proposal.resource.type == ResourceType.BROKER:
        return [*_lockouts(proposal), *_default_risks(proposal)]
    if proposal.resource.type != ResourceType.TOPIC:
        return []
    after, before = proposal.effective, _before(proposal)
    replicas = proposal.topic.replication_factor if proposal.topic is not None else None
    if proposal.topic is None:  # a topic being created: check_create evaluates it
        return []
    return [risk for key in sorted(proposal.touched) for risk in _risks(key, before.get(key), after.get(key), replicas)]


def creation_risks(proposal: TopicProposal) -> list[Risk]:
    replicas = proposal.shape[1]
    return [risk for key in STATE_KEYS for risk in state_risks(key, proposal.effective.get(key), replicas)]


def _before(proposal: AlterProposal) -> Mapping[str, str]:
    after = proposal.effective
    if isinstance(after, Effective):
        return Effective(proposal.resource, dict(proposal.previous), after.resolver)
    return proposal.previous


def _risks(key: str, old: str | None, new: str | None, replicas: int | None) -> list[Risk]:
    loss = "" if old == new else data_loss(key, old, new)
    found = [Risk(RiskName.DATA_LOSS, loss)] if loss else []
    return found + topic_risks(key, old, new, replicas)


def _lockouts(proposal: AlterProposal) -> Iterator[Risk]:
    for key in sorted(proposal.touched):
        why = shut_out(key, proposal.previous.get(key), proposal.resulting.get(key))
        if why:
            yield Risk(RiskName.LOCKOUT, why)


def _default_risks(proposal: AlterProposal) -> Iterator[Risk]:
    """The risks for topics that inherit the changed values, each with the names of the topics."""
    defaults = proposal.defaults
    if defaults is None:
        return
    for key in sorted(defaults.keys(proposal.touched)):
        found: dict[RiskName, Risk] = {}
        names: dict[RiskName, dict[str, None]] = {}
        for risk, topic in _inherited_risks(defaults, key):
            found.setdefault(risk.name, risk)
            names.setdefault(risk.name, {})[topic] = None
        yield from (risk._replace(topics=tuple(names[name])) for name, risk in found.items())


def _inherited_risks(defaults: TopicDefaults, key: str) -> Iterator[tuple[Risk, str]]:
    for before, after in defaults.levels:
        definition = before.catalog.topic[key]
        old, new = before.inherited_value(definition), after.inherited_value(definition)
        if old == new or (key != MIN_INSYNC and not _risks(key, old, new, None)):
            continue
        for topic, _ in defaults.inheriting([key]):
            for risk in _risks(key, old, new, topic.replication_factor):
                yield risk, topic.name
