"""The data files of releases, and the list of known releases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from kconf.errors import ConfigurationError

BASE: Final = "4.3"
"""The release whose keys are the tables in `kconf.configdef`."""

RELEASES: Final = ("3.9", "4.0", "4.1", "4.2", BASE, "4.4")
COMPLETE: Final = tuple(each for each in RELEASES if each != "4.4")
"""Releases that were measured on a broker.

For the others only client jars are available, so their keys are partly unknown.
"""


@dataclass(frozen=True, slots=True)
class ReleaseData:
    """How the keys of a release differ from the base release. All mappings are by resource type, then by key.

    `absent`: keys of the base release that it does not have; `removed`: its keys that the base release no longer has;
    `changed`: fields with another value; `added`: keys that are newer than the base release. `apis` has the highest
    version of each API, `metadata_version` the highest level of that feature.
    """

    release: str
    version: str
    source: str
    metadata_version: int
    distinct_lists: bool = True
    apis: Mapping[str, int] | None = None
    absent: Mapping[str, list[str]] = field(default_factory=dict)
    removed: Mapping[str, list[str]] = field(default_factory=dict)
    changed: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    added: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return self.source == "broker"


@cache
def release_data(release: str) -> ReleaseData:
    """The data of a release; 4.1.2 is 4.1. Raises an error for an unknown release."""
    name = ".".join(release.split(".")[:2])
    if name not in RELEASES:
        raise ConfigurationError(f"kconf has no catalog of Kafka {release}; it has {', '.join(RELEASES)}")
    text = (Path(__file__).parent / f"{name}.json").read_bytes()
    return ReleaseData(**json.loads(text))
