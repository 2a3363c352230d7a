"""Numbers, times and pages in the query of an address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kconf.console.page import BadRequest
from kconf.errors import ConfigurationError
from kconf.util.iso_time import EPOCH
from kconf.util.time_text import parse_time

if TYPE_CHECKING:
    from kconf.console.page import PageRequest


def number_parameter(request: PageRequest, name: str, default: int, most: int = 10**9) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 11 and int(text) > 0):
        raise BadRequest(f"{name} must be a number above 0, not {text!r}")
    return min(int(text), most)


@dataclass(frozen=True)
class Paging:
    """The current page of a long list, with links to the next and previous pages."""

    page: int
    pages: int
    previous_path: str | None
    next_path: str | None


FIRST_PAGE: Final = Paging(1, 1, None, None)


def paging(request: PageRequest, count: int, size: int) -> tuple[Paging, slice]:
    """The requested page, or the last one, and its part of the list."""
    pages = max(1, -(-count // size))
    page = min(number_parameter(request, "page", 1), pages)
    before = request.url(page=page - 1 if page > 2 else None) if page > 1 else None
    after = request.url(page=page + 1) if page < pages else None
    return Paging(page, pages, before, after), slice((page - 1) * size, page * size)


def time_parameter(request: PageRequest, name: str) -> int | None:
    """A time in milliseconds; None if it is not given."""
    text = request.query.get(name, "").strip()
    if not text:
        return None
    try:
        return (parse_time(text) - EPOCH) // timedelta(milliseconds=1)
    except ConfigurationError as error:
        raise BadRequest(str(error)) from None


def time_range(request: PageRequest) -> tuple[int | None, int | None]:
    """`from` and `to`."""
    begin, end = time_parameter(request, "from"), time_parameter(request, "to")
    if begin is not None and end is not None and end < begin:
        raise BadRequest("the first time is after the second")
    return begin, end
