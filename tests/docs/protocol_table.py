"""The generated parts of docs/protocol.md: `python -m tests.docs.protocol_table` writes them.

These are the table of APIs, and the differences from Kafka that the differential tests accept.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

from kconf.protocol.apis import APIS, NEVER, Api
from kconf.server.api.router import HANDLERS
from tests.conformance.differential.accepted import ACCEPTED, ACCEPTED_39, Accepted

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def apis() -> str:
    rows = [_row(api) for _, api in sorted(APIS.items())]
    return "\n".join(["| key | API | versions | flexible from | served |", "|--:|---|---|---|---|", *rows]) + "\n"


def _row(api: Api) -> str:
    versions = f"{api.min}" if api.min == api.max else f"{api.min}–{api.max}"
    flexible = "never" if api.flexible == NEVER else str(api.flexible)
    return f"| {api.key} | {api.name} | {versions} | {flexible} | {'yes' if api.key in HANDLERS else 'no'} |"


def accepted() -> str:
    return (
        "".join(map(_item, ACCEPTED))
        + "\nDifferences from 3.9.2, to which the tests also send the versions that 4.x removed:\n\n"
        + "".join(map(_item, ACCEPTED_39))
    )


def _item(each: Accepted) -> str:
    return textwrap.fill(f"- *{each.name}*: {each.reason}", 120, subsequent_indent="  ") + "\n"


PARTS: Mapping[str, Callable[[], str]] = {"apis": apis, "accepted": accepted}


def written(name: str) -> str:
    """A part in the format of the page."""
    return PAGE.read_text("utf-8").partition(_begin(name))[2].partition(_end(name))[0]


def _begin(name: str) -> str:
    return f"<!-- {name}: begin -->\n"


def _end(name: str) -> str:
    return f"<!-- {name}: end -->"


def main() -> None:
    text = PAGE.read_text("utf-8")
    for name, made in PARTS.items():
        before, _, rest = text.partition(_begin(name))
        text = before + _begin(name) + made() + _end(name) + rest.partition(_end(name))[2]
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
