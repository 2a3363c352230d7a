"""Incremental gold tables and history are equal to a full rebuild, in every column, for random lakes.

Input of several clusters of each kind comes in batches (random_lakes.py). Some runs die before the history, before the
gold tables or between them, and once an input file changes. The tables are written as a whole, file by file, or by
Spark, and a process that was restarted in between remembers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kconf.lake.schemas import EFFECTIVE_CONFIG, GOLD, HISTORY, TOPICS, Table
from kconf.spark import gold, runner, silver
from kconf.spark.delta_tables import Lake, fit
from kconf.spark.transforms.history import folded
from tests.spark.random_lakes import Size, batches, write
from tests.spark.test_backtest import RULES as ALL_RULES
from tests.spark.test_incremental_gold import Killed, World, kill_at, shown
from tests.spark.test_violations import RULES

TINY = Size(servers=1, others=1, steps=6, batches=3)
SMALL = Size(servers=2, others=2, steps=8, batches=3)
LARGE = Size(servers=4, others=6, steps=24, batches=8)
KILLED_AT = [table for table in GOLD if table not in (TOPICS, EFFECTIVE_CONFIG)]
"""Tables at which a run dies. The other two are the first that a run writes, and it dies between tables."""
BY_FILE, BY_SPARK = {"small": 8 * 1024}, {"small": 0}
"""Kinds of lakes: `BY_FILE` has a table larger than 8 KiB updated file by file, and remembers what a round computed."""
MATRIX = [
    *((TINY, "0", RULES, BY_FILE, is_new) for is_new in (False, True)),
    (SMALL, "0", RULES, {}, False),
    *((SMALL, "1", RULES, kind, is_new) for kind in (BY_FILE, BY_SPARK) for is_new in (False, True)),
    *((LARGE, str(seed), ALL_RULES if seed == 1 else RULES, {}, False) for seed in range(4)),
    *((LARGE, str(seed), RULES, BY_FILE, seed == 5) for seed in (4, 5)),
]


class RandomWorld(World):
    """A lake whose runs may die."""

    def use(self, rules: str) -> None:
        (self.place / "rules.yaml").write_text(rules)
        self.inputs = replace(self.inputs)

    def change_owners(self) -> None:
        (self.place / "owners.csv").write_text("*,nobody\n")
        self.inputs = replace(self.inputs)

    def die(self, monkeypatch: pytest.MonkeyPatch, at: Table, after: str) -> None:
        """A run that dies after reading, after the history, or when it writes a gold table."""
        runner.read(self.lake, self.sources, lambda _: None)
        if after != "read":
            silver.update(self.lake)
        if after == "gold":
            with monkeypatch.context() as patch:
                kill_at(patch, (at,))
                with pytest.raises(Killed):
                    gold.write(self.lake, self.inputs, lambda _: None)

    def check(self) -> None:
        """Every table has the rows that computing everything again gives."""
        events = silver.all_events(self.lake, self.lake.note(HISTORY))
        assert shown(self.lake.read(HISTORY)) == shown(fit(folded(events), HISTORY))
        super().check()

    def tables(self) -> dict[str, Sequence[str]]:
        return {table.name: shown(self.lake.read(table)) for table in (HISTORY, *GOLD)}


@pytest.mark.full
@pytest.mark.parametrize(("size", "seed", "rules", "kind", "is_restarted"), MATRIX)
def test_tables_after_random_batches_equal_a_rebuild(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: Size,
    seed: str,
    rules: str,
    kind: dict[str, Any],
    is_restarted: bool,
) -> None:
    """A smaller test with fixed changes: tests/spark/test_incremental_gold.py."""
    world, random = RandomWorld(spark, tmp_path, **kind), Random(seed)
    world.use(rules)
    changes_owners = random.randrange(2, size.batches) if size is LARGE else None
    kept: set[str] = set()
    for number, batch in enumerate(batches(tmp_path, size, seed)):
        write(batch)
        if is_restarted:
            world.lake = Lake(world.lake.uri, spark, **kind)
        if number == changes_owners:
            world.change_owners()
        if 0 < number < size.batches - 1 and size is not TINY and (size is SMALL or random.random() < 0.5):
            after = "gold" if size is SMALL else random.choice(("read", "history", "gold"))
            world.die(monkeypatch, random.choice(KILLED_AT), after)
            continue
        world.run()
        kept |= world.kept()
        if number:
            world.check()

    assert size is TINY or kept == {table.name for table in GOLD}, "of each table some rows were kept at least once"
    before = world.tables()
    runner.rebuild(world.lake, world.inputs, lambda _: None)
    assert world.tables() == before
