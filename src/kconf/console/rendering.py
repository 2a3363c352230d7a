"""Pages as HTML or JSON. Every expression of a template is escaped, and its control characters are made visible."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kconf.console import links, words
from kconf.model.resource import Resource
from kconf.util.iso_time import iso_time
from kconf.util.visible_text import visible
from kconf.version import __version__

if TYPE_CHECKING:
    from kconf.console.page import Page

ROOT: Final = Path(__file__).parent
STATIC: Final = ROOT / "static"


def _finalize(value: Any) -> Any:
    """Convert a value for a template: None prints nothing, and text has no control characters."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def static_path(name: str) -> str:
    """The address of a file in `static/`. It changes with the content, so browsers may cache it forever."""
    digest = sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/-/static/{digest}/{name}"


@cache
def compressed(name: str) -> bytes:
    """A file in `static/`, compressed once."""
    return gzip.compress((STATIC / name).read_bytes(), mtime=0)


def compile_templates() -> None:
    """Compile all templates in advance, because compiling takes longer than rendering."""
    for name in environment().list_templates(["html"]):
        environment().get_template(name)


@cache
def environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters.update(age=words.age_text, time=words.time_cell, day=words.short_time, plural=words.plural)
    found.globals.update(
        static=static_path,
        resource_path=links.resource_path,
        context_path=links.context_path,
        version=__version__,
    )
    return found


def render_html(page: Page, chrome: Mapping[str, object]) -> str:
    """`chrome` has the data for the frame of every page: navigation, age of the state, form token."""
    return environment().get_template(page.template).render(page=page.value, title=page.title, **chrome)


def render_json(page: Page, state: Mapping[str, object] | None) -> bytes:
    value = to_plain(page.value)
    assert isinstance(value, dict)
    return json.dumps({"title": page.title, **({"state": state} if state else {}), **value}, indent=1).encode() + b"\n"


def to_plain(value: Any) -> Any:
    """A value for JSON: dataclasses and named tuples become objects, resources strings, times ISO 8601."""
    match value:
        case None | bool() | int() | float() | str() if not isinstance(value, Enum):
            return value
        case Enum():
            return value.value
        case Resource():
            return str(value)
        case datetime():
            return iso_time(value)
        case Mapping():
            return {str(key): to_plain(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return to_plain(value._asdict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(each) for each in value]
    raise TypeError(f"a page has a {type(value).__name__}, which is not plain data")
