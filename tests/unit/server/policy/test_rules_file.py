"""A policy file is reloaded when it changes; if it is invalid, the old rules stay."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.server.policy.rules_file import RulesFile

CATALOGUE = kafka_43()
MAX_1H = "rules: [{id: r, selector: topic, key: retention.ms, condition: {max: 1h}}]\n"
MAX_2H = MAX_1H.replace("1h", "2h")


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_the_file_is_read_again_when_it_changes_and_at_most_once_a_second(tmp_path: Path) -> None:
    async def scene() -> None:
        file, clock = tmp_path / "p", Clock()
        file.write_text(MAX_1H)
        rules = RulesFile(str(file), CATALOGUE, now=clock)
        first = rules.rules
        replacement = tmp_path / "q"
        replacement.write_text(MAX_2H)
        replacement.rename(file)

        clock.time += 0.9
        await rules.refresh()
        assert rules.rules is first
        clock.time += 0.2
        await rules.refresh()
        second = rules.rules
        assert second.rules[0].conditions[0].text == "2h"
        clock.time += 2
        await rules.refresh()
        assert rules.rules is second

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            MAX_1H.replace("max", "mx") + "verson: 1\n",
            ":1:65: unknown field 'mx' in a condition; did you mean max? (and 1 more)",
        ),
        ("", ":1:1: the file is empty"),
        (b"rules: []\n# \xff", ":2:3: not UTF-8"),
        (None, "cannot read"),
    ],
)
def test_an_invalid_new_file_keeps_the_old_rules_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | bytes | None, told: str
) -> None:
    async def scene() -> None:
        file, clock = tmp_path / "p", Clock()
        file.write_text(MAX_1H)
        rules = RulesFile(str(file), CATALOGUE, now=clock)
        first = rules.rules
        file.unlink()
        if text is not None:
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        for _ in range(3):
            clock.time += 2
            await rules.refresh()
        assert rules.rules is first
        (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
        assert told in line

        file.write_text(MAX_2H)
        os.utime(file, (1, 1))
        clock.time += 2
        await rules.refresh()
        assert rules.rules.rules[0].conditions[0].text == "2h"

    asyncio.run(scene())
