"""The text of a requested change shows its key, but not its value."""

from __future__ import annotations

import pytest

from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.resource import Resource


@pytest.mark.parametrize(("value", "shown"), [("s3cret", "[hidden]"), ("", "[hidden]"), (None, "None")])
def test_a_repr_hides_a_value_but_shows_null(value: str | None, shown: str) -> None:
    op = AlterConfigOp(OpType.SET, "ssl.key.password", value)
    text = f"AlterConfigOp(op=<OpType.SET: 0>, key='ssl.key.password', value={shown})"

    assert repr(op) == text
    assert text in repr(ResourceAlterations(Resource.broker(1), [op]))
