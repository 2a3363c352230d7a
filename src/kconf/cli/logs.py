"""Structured logs: one line per event on stderr, as key=value pairs that people and machines can read."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class _Pairs(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level = _LEVELS.get(record.levelname, record.levelname)
        line = f"time={moment} level={level} logger={record.name} message={_quoted(record.getMessage())}"
        if record.exc_info:
            line += f" error={_quoted(self.formatException(record.exc_info))}"
        return line


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def configure(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Pairs())
    logging.basicConfig(level=level, handlers=[handler], force=True)
