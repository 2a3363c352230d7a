"""`make run` tells its story on an empty store, and again on the one it left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def demo(store: Path) -> str:
    command = [sys.executable, "-m", "examples.demo", "--once", "--listen", "127.0.0.1:0"]
    done = subprocess.run(
        [*command, "--store", f"sqlite:///{store}"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_runs_on_an_empty_store_and_again_on_what_it_left(tmp_path: Path) -> None:
    first, second = demo(tmp_path / "demo.db"), demo(tmp_path / "demo.db")

    assert "orders: 6 partitions, 33 configs" in first
    assert "orders: TOPIC_ALREADY_EXISTS" in second
    for told in (first, second):
        assert "orders: INVALID_CONFIG: Invalid value a week" in told
        assert "clicks: would be granted" in told
        assert "topic:payments: retention.ms = 259200000" in told
        assert "topic:orders: cleanup.policy=compact,delete" in told
        assert "kafka-configs.sh --bootstrap-server 127.0.0.1:" in told
