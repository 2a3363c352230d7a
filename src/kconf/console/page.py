"""The parameter and the results of views. See the package's docstring for how to add a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from kconf.errors import KconfError

if TYPE_CHECKING:
    from kconf.console.console import Cluster, Console
    from kconf.console.security.sessions import Session


class BadRequest(KconfError):
    """The address or the form is not valid."""


@dataclass(frozen=True)
class PageRequest:
    """A request for a page. `cluster` is the cluster in the path; pages without a context must not use it."""

    console: Console
    session: Session
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    query: QueryParams = field(default_factory=QueryParams)
    form: QueryParams = field(default_factory=QueryParams)
    method: str = "GET"
    client: str = ""
    wants_json: bool = False
    host: str = ""

    @property
    def context(self) -> str | None:
        return self.parameters.get("context")

    @property
    def cluster(self) -> Cluster:
        """Raises NotFound or LoginRequired."""
        name = self.parameters["context"]
        return self.console.cluster(name, self.session)

    def url(self, **changes: object) -> str:
        """This address with changed query parameters; None removes one."""
        pairs = {**dict(self.query), **changes}
        text = urlencode({name: value for name, value in pairs.items() if value is not None and value != ""})
        return f"{self.path}?{text}" if text else self.path


@dataclass(frozen=True)
class Page:
    """A template and its value. `section` is the entry of the navigation that it belongs to."""

    template: str
    value: object
    title: str
    section: str = ""
    status: int = 200


@dataclass(frozen=True)
class Redirect:
    """A redirect after a form was accepted. `token` starts a session; an empty one ends it."""

    to: str
    token: str | None = None


View = Callable[[PageRequest], Page | Redirect]


@dataclass(frozen=True)
class PageRoute:
    """A path in Starlette's syntax, and its view."""

    path: str
    view: View
    methods: Sequence[str] = ("GET",)
