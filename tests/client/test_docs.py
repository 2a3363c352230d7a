"""What docs/reference/client.md shows is run, block by block, against a kconf process."""

from __future__ import annotations

import re
from pathlib import Path

from kconf import AdminClient
from tests.support.process import KconfProcess

PAGE = (Path(__file__).parents[2] / "docs/reference/client.md").read_text()


def test_every_block_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with KconfProcess() as server:
        for number, block in enumerate(blocks):
            code = compile(block.replace("localhost:9092", server.bootstrap), f"client.md block {number + 1}", "exec")
            exec(code, {"__name__": "__main__"})
    assert len(blocks) >= 6


def test_every_method_is_in_the_table() -> None:
    methods = [name for name in vars(AdminClient) if not name.startswith("_")]
    others = {"close", "settings", "from_properties"}

    assert [name for name in methods if name not in others and f"`{name}(" not in PAGE] == []
