"""Error pages."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from kconf.console.page import Page


@dataclass(frozen=True)
class ErrorPage:
    status: int
    error: str


def error_page(status: int, text: str) -> Page:
    return Page("error.html", ErrorPage(status, text), HTTPStatus(status).phrase, status=status)
