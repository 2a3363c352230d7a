"""See tests/real_clients/test_together.py."""

from __future__ import annotations

from tests.real_clients import test_together as scenarios

globals().update({name: each for name, each in vars(scenarios).items() if not name.startswith("__")})
