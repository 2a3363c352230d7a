"""Kafka's own schemas of messages and metadata records, read from the jars of a release.

They are JSON with `//` comments. Tests compare the tables of `kconf.protocol` with them.
"""

from __future__ import annotations

import functools
import json
import re
import zipfile
from typing import Any

from lab.jars import jar_dir
from lab.java import LabError

_MESSAGES = "common/message/"
_RECORDS = "common/metadata/"
# Matches strings, which are kept, and comments, which are removed, so that "//" in a string stays.
_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')


def schema(version: str, name: str) -> dict[str, Any]:
    """A message's schema: `schema("4.3.1", "DescribeConfigsRequest")`."""
    try:
        return schemas(version)[name]
    except KeyError:
        raise LabError(f"Kafka {version} has no message named {name}.") from None


@functools.cache
def schemas(version: str) -> dict[str, dict[str, Any]]:
    """The schemas of all messages of a release by name. Shared between callers: do not modify it."""
    return _read(version, "kafka-clients", _MESSAGES)


@functools.cache
def record_schemas(version: str) -> dict[str, dict[str, Any]]:
    """The schemas of all metadata records of a release by name. Also shared between callers."""
    return _read(version, "kafka-metadata", _RECORDS)


def _read(version: str, jar_name: str, folder: str) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(jar_dir(version) / f"{jar_name}-{version}.jar") as jar:
        names = [each for each in jar.namelist() if each.startswith(folder) and each.endswith(".json")]
        return {each.removeprefix(folder).removesuffix(".json"): _parse(jar.read(each).decode()) for each in names}


def _parse(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(_STRING_OR_COMMENT.sub(lambda match: match[1] or "", text))
    return parsed
