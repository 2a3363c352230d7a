"""Structured logs: one line per event on stderr, as key=value pairs.

An exception is logged with its type and stack, without its message: a ValueError quotes the invalid value, which may be
a secret.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import PurePath
from traceback import extract_tb

from kconf.util.iso_time import iso_time

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_QUOTING = str.maketrans(
    {**{chr(code): f"\\x{code:02x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}, **_ESCAPES}
)


class _Pairs(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = iso_time(int(record.created * 1000))
        level = _LEVELS.get(record.levelname, record.levelname)
        line = f"time={moment} level={level} logger={record.name} message={_quoted(record.getMessage())}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f" error={_quoted(' because of '.join(_chain(record.exc_info[1])))}"
        return line


def _chain(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        said = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        places = [f"{PurePath(each.filename).name}:{each.lineno}" for each in extract_tb(error.__traceback__)]
        yield f"{type(error).__name__}{said} at {' '.join(reversed(places))}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _quoted(text: str) -> str:
    return f'"{text.translate(_QUOTING)}"'


def configure(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Pairs())
    logging.basicConfig(level=level, handlers=[handler], force=True)
