"""Simulates a later version of kconf in its own process: `RequestContext` has one more field, `added_later`.

python -m tests.support.later_version kconf WORD …            the command line
python -m tests.support.later_version commit STORE ARCHIVE    one more revision and one more attempt in a store, and all
                                                              of its journal in an archive; prints that field of each
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kconf.model.journal as journal
from kconf.model.resource import Resource

IP = "10.0.0.9"
ROOT = Path(__file__).parents[2]


def later_version(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", __name__, *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)


def _add_field() -> None:
    """Add the field before any module that depends on `RequestContext` is imported."""
    assert "kconf.model.lines.fields" not in sys.modules

    @dataclass(frozen=True, slots=True)
    class RequestContext(journal.RequestContext):
        added_later: str = journal.caller_field("", "the address of the client", is_counted=True)

    vars(journal)["RequestContext"] = RequestContext


def _commit(url: str, archive: Path) -> None:
    from kconf.model.plan import PendingCommit
    from kconf.server.journal.archive import Archive
    from kconf.store.registry import open_store

    made: Any = journal.RequestContext
    who, orders = made("User:bob", added_later=IP), Resource.topic("orders")
    with closing(open_store(url)) as store, closing(store.journal_reader()) as reader:
        last = store.load().revision + 1
        change = journal.Change(journal.ChangeKind.CONFIG, orders, "a", "1", "2", "set")
        store.commit([PendingCommit(who, 2000, [change], {})])
        store.append_attempts([journal.AuditEntry(2000, who, last, orders, ["a"], 44, dry_run=False)])
        with closing(Archive(archive, store.cluster_id, store.epoch, store.journal_reader())) as written:
            written.open(last)
            written.catch_up()
        told: list[Any] = [*reader.changes(0), *reader.attempts(0)]
    sys.stdout.write(json.dumps([each.caller.added_later for each in told]))


if __name__ == "__main__":
    _add_field()
    if sys.argv[1] == "commit":
        _commit(sys.argv[2], Path(sys.argv[3]))
    else:
        from kconf.cli.main import main

        sys.exit(main(sys.argv[2:]))
