"""The commands on the pages run and print what the pages show. Pages that need a real Kafka: tests/conformance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lab.zookeeper import ZooKeeper
from tests.docs.blocks import Page, differences, pages, read_page, steps
from tests.docs.running import reader
from tests.support.process import KconfProcess
from tests.support.targets import marked

PAGES = {page.name: page for page in pages()}


_STARTS_SPARK = ("docs/how-to/pipeline.md",)
"""Pages that start Spark several times; tests/spark/test_whole_way.py starts it once, by the same commands."""


def _with(*needs: str) -> list[Any]:
    names = [name for name, page in PAGES.items() if page.needs in needs]
    return [marked(name, pytest.mark.full) if name in _STARTS_SPARK else name for name in names]


@pytest.mark.parametrize("name", _with("server"))
def test_the_commands_of_a_page_work_with_a_server(name: str) -> None:
    with KconfProcess(elr_version=None) as server, reader(PAGES[name], p9092=server.bootstrap) as someone:
        someone.read()


@pytest.mark.parametrize("name", _with("nothing"))
def test_the_commands_of_a_page_that_starts_its_own_server_work(name: str) -> None:
    with reader(PAGES[name]) as someone:
        someone.read()


@pytest.mark.parametrize("name", _with("zookeeper"))
def test_the_commands_of_a_page_work_with_a_zookeeper(name: str, zookeeper: ZooKeeper) -> None:
    with reader(PAGES[name], p2181=zookeeper.address) as someone:
        someone.read()


def test_every_page_names_a_known_requirement() -> None:
    assert [page.name for page in PAGES.values() if page.needs not in {"server", "nothing", "kafka", "zookeeper"}] == []


def test_a_console_block_is_parsed_into_commands_outputs_and_statuses() -> None:
    found = list(steps("$ a \\\n  b\n1\n\n2\n$ c  # exit 3\n\n"))

    assert [(each.command, each.expected, each.status) for each in found] == [
        ("a \\\n  b", ["1", "", "2"], 0),
        ("c", [], 3),
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (["a", "b"], "a\nb\n", True),
        (["a"], "a\nb\n", False),
        (["a", "b"], "a\n", False),
        (["a", "…"], "a\nb\nc\n", True),
        (["…", "c"], "a\nb\nc\n", True),
        (["id … here"], "id 7 here", True),
        (["at 2026-01-01T00:00:00Z"], "at 2027-02-03T04:05:06Z", True),
        (["took 3 ms"], "took 12.5 s", True),
        ([], "a", False),
    ],
)
def test_an_ellipsis_matches_any_output(expected: list[str], printed: str, same: bool) -> None:
    assert (differences(expected, printed) == []) is same


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Page]:
    def make(text: str) -> Page:
        path = tmp_path_factory.mktemp("page") / "page.md"
        path.write_text(text)
        return read_page(path)

    return make


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nfalse\n```\n",
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "```console\n$ true  # exit 3\n```\n",
        "```python\nraise SystemExit(1)\n```\n",
        "<!-- run\nfalse\n-->\n",
    ],
)
def test_a_page_with_a_wrong_output_or_status_fails(
    text: str, write: Callable[[str], Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Page, "name", "page.md")
    with reader(write(text)) as someone, pytest.raises(AssertionError, match=r"page\.md:1"):
        someone.read()


def test_titled_blocks_are_written_to_files_and_hidden_commands_are_run(write: Callable[[str], Page]) -> None:
    text = '```yaml title="a.yaml"\nx: 1\n```\n<!-- run\ncp a.yaml b.yaml\n-->\n```console\n$ cat b.yaml\nx: 1\n```\n'
    with reader(write(text)) as someone:
        someone.read()
