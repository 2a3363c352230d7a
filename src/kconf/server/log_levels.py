"""BROKER_LOGGER resources: the levels of this process's loggers, with Kafka's level names.

Levels are not stored: a restart resets them, as in Kafka. All operations of a request are checked before the first one
is executed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from kconf.engine.configs.alter import check_alterations
from kconf.errors import InvalidConfig, InvalidRequest, UnknownServerError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import Entry, Source, View

ROOT: Final = "root"
TRACE: Final = 5
LEVELS: Final[Mapping[str, int]] = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": TRACE,
}


class LogLevels:
    """The loggers of this process: the root and those of kconf."""

    def __init__(self) -> None:
        logging.addLevelName(TRACE, "TRACE")

    def names(self) -> list[str]:
        known = [name for name, logger in logging.root.manager.loggerDict.items() if isinstance(logger, logging.Logger)]
        return sorted([ROOT, *(name for name in known if name == "kconf" or name.startswith("kconf."))])

    def describe(self) -> View:
        return View(tuple(Entry(name, self._level(name), Source.LOGGER, documentation="") for name in self.names()))

    def alter(self, alterations: Sequence[AlterConfigOp], *, validate_only: bool) -> None:
        """Set and delete levels, all or none."""
        check_alterations(alterations)
        names = set(self.names())
        for each in alterations:
            _check(each, names)
        if not validate_only:
            for op, name, value in alterations:
                self._logger(name).setLevel(LEVELS[value or ""] if op == OpType.SET else logging.NOTSET)

    def _level(self, name: str) -> str:
        level = self._logger(name).getEffectiveLevel()
        return next(word for word, number in LEVELS.items() if level >= number or number == TRACE)

    def _logger(self, name: str) -> logging.Logger:
        return logging.getLogger() if name == ROOT else logging.getLogger(name)


def _check(alteration: AlterConfigOp, names: set[str]) -> None:
    op, name, value = alteration
    if op == OpType.SET:
        if name not in names:
            raise InvalidConfig(f"unknown logger {name}")
        if value not in LEVELS:
            raise InvalidConfig(f"{name}: {value} is not a log level; use {', '.join(LEVELS)}")
    elif op == OpType.DELETE:
        if name not in names:
            raise InvalidConfig(f"unknown logger {name}")
        if name == ROOT:
            raise InvalidRequest("the level of the root logger cannot be deleted")
    elif op in (OpType.APPEND, OpType.SUBTRACT):
        raise InvalidRequest(f"{OpType(op).name} is not supported for loggers")
    else:
        raise UnknownServerError
