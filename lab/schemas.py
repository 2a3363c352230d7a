"""Kafka's own message schemas, read out of a release's kafka-clients jar.

They are JSON with `//` comments. Written for the tests that hold the tables of `kconf.wire` against them.
"""

from __future__ import annotations

import functools
import json
import re
import zipfile
from typing import Any

from lab.jars import jar_dir
from lab.java import LabError

_FOLDER = "common/message/"
# A string, kept as it is, or a comment, dropped: so that "//" in a string stays.
_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')


def schema(version: str, name: str) -> dict[str, Any]:
    """A message's schema: `schema("4.3.1", "DescribeConfigsRequest")`."""
    try:
        return schemas(version)[name]
    except KeyError:
        raise LabError(f"Kafka {version} has no message named {name}.") from None


@functools.cache
def schemas(version: str) -> dict[str, dict[str, Any]]:
    """Every schema of a release by its name. Shared between callers: read it, do not edit it."""
    with zipfile.ZipFile(jar_dir(version) / f"kafka-clients-{version}.jar") as jar:
        names = [each for each in jar.namelist() if each.startswith(_FOLDER) and each.endswith(".json")]
        return {each.removeprefix(_FOLDER).removesuffix(".json"): _parse(jar.read(each).decode()) for each in names}


def _parse(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(_STRING_OR_COMMENT.sub(lambda match: match[1] or "", text))
    return parsed
