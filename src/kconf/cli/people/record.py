"""The record of what people's commands changed, where a context has a `journal:` directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.cli.people.changing import Outcome
    from kconf.cli.people.target import Target
    from kconf.client.sync import SyncAdminClient


def record(target: Target, admin: SyncAdminClient, outcomes: Sequence[Outcome], reason: str | None) -> None:
    """Called by `make_changes`, once per batch, after the cluster answered; failures are among the outcomes."""
