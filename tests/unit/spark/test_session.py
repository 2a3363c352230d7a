"""The settings of a session that depend on the size of a run."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.spark.session import planned_for

DEFAULTS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}


class Session:
    """Has only settings."""

    def __init__(self) -> None:
        self.conf: Any = self
        self.settings = dict(DEFAULTS)

    def get(self, name: str) -> str:
        return self.settings[name]

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value


@pytest.mark.parametrize(
    ("is_few", "is_small", "changed"),
    [
        (False, False, {}),
        (False, True, {}),
        (True, False, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}),
        (
            True,
            True,
            {
                "spark.sql.adaptive.enabled": "false",
                "spark.sql.shuffle.partitions": "1",
                "spark.sql.codegen.wholeStage": "false",
                "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            },
        ),
    ],
)
def test_settings_for_few_new_rows_are_restored_even_after_an_error(
    is_few: bool, is_small: bool, changed: dict[str, str]
) -> None:
    session: Any = Session()
    inside = {}

    def fail() -> None:
        with planned_for(session, is_few=is_few, is_small=is_small):
            inside.update(session.settings)
            raise ValueError

    with pytest.raises(ValueError):
        fail()

    assert inside == {**DEFAULTS, **changed}
    assert session.settings == DEFAULTS
