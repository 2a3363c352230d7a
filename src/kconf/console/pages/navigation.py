"""The sections of a cluster, in the order of the navigation. Each is a path below `/CONTEXT/`."""

from __future__ import annotations

from typing import Final, NamedTuple

from kconf.console.links import context_path


class Section(NamedTuple):
    word: str
    title: str


NAVIGATION: Final = (
    Section("topics", "Topics"),
    Section("brokers", "Brokers"),
    Section("groups", "Groups"),
    Section("users", "Users"),
)


class NavigationLink(NamedTuple):
    section: str
    title: str
    path: str


def navigation(context: str) -> list[NavigationLink]:
    return [NavigationLink(each.word, each.title, f"{context_path(context)}/{each.word}") for each in NAVIGATION]
