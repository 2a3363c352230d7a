"""The same server and person as for declarations."""

from __future__ import annotations

from tests.cli.declarative.conftest import people, server

__all__ = ["people", "server"]
