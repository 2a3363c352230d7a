"""Kafka's rules for topic names."""

from __future__ import annotations

import re

from kconf.errors import InvalidTopic

_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
LONGEST = 249


def name_problem(name: str) -> str | None:
    """Why a topic cannot have this name; None: it can. Not cached: names come from clients, and may be long."""
    if _LEGAL.fullmatch(name) and name not in (".", ".."):
        return None
    if not name:
        return "a topic's name must not be empty"
    if name in (".", ".."):
        return "a topic's name must not be '.' or '..'"
    if len(name) > LONGEST:
        return f"a topic's name may have at most {LONGEST} characters; this one has {len(name)}"
    return f"a topic's name may have letters, digits, '.', '_' and '-' only: {name!r}"


def check_topic_name(name: str) -> None:
    problem = name_problem(name)
    if problem is not None:
        raise InvalidTopic(problem)
