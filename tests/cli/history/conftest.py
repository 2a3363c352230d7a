"""The same server and user as for declarative files."""

from __future__ import annotations

from tests.cli.declarative.conftest import people, server

__all__ = ["people", "server"]
