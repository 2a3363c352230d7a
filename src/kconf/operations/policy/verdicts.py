"""Converts findings of rules to failures and warnings for a resource."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kconf.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from kconf.engine.policy.rules import Finding


class PolicyFindings(NamedTuple):
    """The result of a policy for a resource: why it is refused, or None, and the findings that only warn."""

    failure: ApiError | None
    warnings: tuple[Finding, ...] = ()


def verdict_of(findings: Iterable[Finding]) -> PolicyFindings:
    """Findings of `error` rules are failures, others are warnings."""
    from kconf.engine.policy.selectors import Severity

    found = {severity: [each for each in findings if each.rule.severity is severity] for severity in Severity}
    errors = [each.text for each in found[Severity.ERROR]]
    failure = ApiError(ErrorCode.POLICY_VIOLATION, "; ".join(errors)) if errors else None
    return PolicyFindings(failure, tuple(found[Severity.WARN]))
