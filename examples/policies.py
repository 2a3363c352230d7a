"""Policies as Python classes. Name them in server.properties:

alter.config.policy.class.name=examples/policies.py:OfficeHours
create.topic.policy.class.name=examples/policies.py:TeamNames
team.names=payments,search
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kconf.engine.policy.hooks import AlterProposal, TopicProposal
from kconf.errors import PolicyViolation


class OfficeHours:
    """Only operators may shorten retention; unlimited retention causes a warning."""

    def check_alter(self, proposal: AlterProposal) -> Iterator[str]:
        after = proposal.changed.get("retention.ms")
        if after is None:
            return
        before = proposal.previous.get("retention.ms")
        if after == "-1":
            yield f"{proposal.resource}: records will be kept forever"
        elif before is not None and int(after) < int(before) and not proposal.principal.startswith("User:op-"):
            raise PolicyViolation(f"only operators may shorten the retention of {proposal.resource}: it deletes data")


class TeamNames:
    """A topic's name must begin with its team, and each team has a maximum number of partitions."""

    def configure(self, properties: Mapping[str, str]) -> None:
        self._teams = [name.strip() for name in properties.get("team.names", "").split(",") if name.strip()]

    def check_create(self, proposal: TopicProposal) -> None:
        team, dot, _ = proposal.name.partition(".")
        if not dot or team not in self._teams:
            raise PolicyViolation(
                f"the name {proposal.name} must begin with a team and a dot; teams: {', '.join(self._teams)}"
            )
        partitions, _ = proposal.shape
        if partitions is not None and partitions > 12:
            raise PolicyViolation(f"{proposal.name} may have at most 12 partitions, but {partitions} are requested")
