"""Completion and history for the shells, with prompt_toolkit (extra `shell`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import InMemoryHistory

from kconf.errors import KconfError

Suggestions = Callable[[str], Iterator[str]]
"""The completions of a line."""


class _Completer(Completer):
    def __init__(self, suggestions: Suggestions) -> None:
        self._suggestions = suggestions

    def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
        line: str = document.text_before_cursor
        last = line.split(" ")[-1]
        try:
            for each in self._suggestions(line):
                if each.isprintable():  # names come from the cluster
                    yield Completion(each, start_position=-len(last))
        except KconfError:
            return  # no suggestions if the cluster does not respond


def prompt_session(suggestions: Suggestions) -> Callable[[str], str]:
    """Prompts for a line. The history is only in memory, because it may contain secrets."""
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(), completer=_Completer(suggestions), complete_while_typing=False
    )
    return session.prompt
