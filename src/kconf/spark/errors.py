"""The cause of a Spark error, as one line, and errors of a source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kconf.lake.storage.location import LakeError


class SourceUnreachable(LakeError):
    """A live cluster cannot be read. The lake itself can be used."""


def first_line(error: Exception) -> str:
    """The message of a Spark error without plan and stack trace; for Python errors, the exception raised.

    If Spark only names the failed call or task, the root cause is returned.
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Failed): ", line)]
    if lines and "Traceback (most recent call last)" in lines[0] and raised:
        return raised[-1]
    if lines and re.match(r"An error occurred while calling |.*Job aborted due to stage failure", lines[0]):
        return _root(lines)
    return lines[0].strip() if lines else type(error).__name__


def _root(lines: Sequence[str]) -> str:
    """The last cause in a Java stack trace, without its package."""
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    tasks = [found[1] for line in lines if (found := re.search(r"\(TID \d+\).*?\): (\S.*)", line))]
    calls = [line[2:] for line in lines if line.startswith(": ")]
    root = (causes[-1:] or tasks[-1:] or calls[-1:] or lines[:1])[0].strip()
    return re.sub(r"^(?:\w+\.)+(\w+(?:: |$))", r"\1", root)
