"""See tests/real_clients/test_unaffected.py."""

from __future__ import annotations

from tests.real_clients import test_unaffected as scenarios

globals().update({name: each for name, each in vars(scenarios).items() if not name.startswith("__")})
