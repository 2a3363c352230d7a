"""What docs/how-to/kafka-configs.md shows is run, line by line, against a kconf process."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from kconf import SyncAdminClient, TopicWish
from tests.cli.conftest import run_program
from tests.support.process import KconfProcess

PAGE = (Path(__file__).parents[2] / "docs/how-to/kafka-configs.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_line_works() -> None:
    lines = "".join(blocks("sh")).splitlines()
    (sample,) = blocks("text")
    with KconfProcess() as server, SyncAdminClient(server.bootstrap) as admin:
        admin.create_topics([TopicWish("orders", 1, 1)]).raise_for_failures()
        for line in lines:
            words = shlex.split(line.replace("localhost:9092", server.bootstrap))
            words = words[1:] if words[0] == "kconf" else words
            done = run_program(*words, environment={"ALICE_PASSWORD": "hush"})
            assert (done.status, done.err) == (0, ""), line
            if "--dry-run" in line:
                assert done.out == sample
    assert len(lines) == 12
