"""Python classes by name, and what may be told of their failures."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from kconf.errors import ConfigurationError


def find_class(setting: str, name: str) -> Any:
    """The class behind `package.module:Class` or `path/to/file.py:Class`; `ConfigurationError` says why not."""
    module_name, colon, class_name = name.rpartition(":")
    if not colon:
        raise ConfigurationError(
            f"{setting}: {name} looks like a Java class, which kconf cannot run; "
            "name a Python class as package.module:Class, or kconf:rules with policy.file"
        )
    try:
        module = _from_file(Path(module_name)) if module_name.endswith(".py") else importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        raise ConfigurationError(f"{setting}: cannot import {module_name}: {type(error).__name__}: {error}") from None
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise ConfigurationError(f"{setting}: {module_name} has no class {class_name!r}")
    return found


def _from_file(path: Path) -> ModuleType:
    name = f"kconf_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def where(error: BaseException) -> str:
    """file:line of the innermost frame, without any value."""
    trace = error.__traceback__
    if trace is None:
        return "?"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def redacted(text: str, secrets: Iterable[str]) -> str:
    """A text that someone else wrote, without the secrets that were within their reach."""
    for secret in sorted(filter(None, set(secrets)), key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text
