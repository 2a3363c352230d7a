"""Hides installed packages, to test what depends on an extra."""

from __future__ import annotations

import builtins
from typing import Any

import pytest


def hide_package(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
