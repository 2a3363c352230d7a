"""The table of APIs in docs/protocol.md, made from kconf.wire.apis. `python -m tests.docs.protocol_table` writes it."""

from __future__ import annotations

from pathlib import Path

from kconf.server.dispatch import HANDLERS
from kconf.wire.apis import APIS, NEVER, Api

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
BEGIN, END = "<!-- apis: begin -->\n", "<!-- apis: end -->"


def table() -> str:
    rows = [_row(api) for _, api in sorted(APIS.items())]
    return "\n".join(["| key | API | versions | flexible from | served |", "|--:|---|---|---|---|", *rows]) + "\n"


def _row(api: Api) -> str:
    versions = f"{api.min}" if api.min == api.max else f"{api.min}–{api.max}"
    flexible = "never" if api.flexible == NEVER else str(api.flexible)
    return f"| {api.key} | {api.name} | {versions} | {flexible} | {'yes' if api.key in HANDLERS else 'not yet'} |"


def written() -> str:
    """The table as the page has it."""
    return PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
