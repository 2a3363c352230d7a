"""The fast path for the most frequent request: DescribeConfigs of one topic, all keys.

Such requests differ only in the topic name, and the responses only in the name and the entries, which are cached in
encoded form with the topic's View. The response is built from slices and cached parts, without decoding the request.
Views are cached by topic name. A commit evicts the topics that it changes; a change of broker configs evicts all. Any
other request goes to the router, which must return the same bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Final, NamedTuple

from kconf.model.acl import AclType, Authorize, Operation, allow_all
from kconf.model.entry import View
from kconf.model.journal import Revision
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.codec.varint import MAX_TEXT
from kconf.protocol.describe_configs_encoding import Form, response_end
from kconf.protocol.headers import LENGTH
from kconf.server.api.encoded_entries import tail_of
from kconf.server.connection_context import ConnectionContext
from kconf.server.counters import Counters
from kconf.server.request_handler import Handle, Response
from kconf.service import Service, State

_DESCRIBE_CONFIGS: Final = 32
_VERSIONS: Final = range(5)
_FLEXIBLE: Final = 4
_SHORT: Final = 127  # the varint length of a shorter name is one byte
_LONG: Final = 1 << 15


class _Layout(NamedTuple):
    """The fixed bytes of one request version and its response, around the topic name."""

    before: bytes  # bytes from the end of the client id to the name's length
    wide: int  # size of the name's length field
    longest: int  # exclusive limit of the name's length
    forms: dict[bytes, Form]  # by the bytes after the name
    head: bytes  # response bytes from the correlation id to the name's length


def _layout(version: int) -> _Layout:
    flexible = version >= _FLEXIBLE
    flags = [(synonyms, documentation) for synonyms in (0, 1) for documentation in (0, 1)]
    forms: dict[bytes, Form] = {}
    for keys in (b"\x00\x00", b"\x01\x00") if flexible else (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"):
        for synonyms, documentation in flags:
            included = bytes([synonyms]) * (version >= 1) + bytes([documentation]) * (version >= 3)
            form = Form(version, bool(synonyms and version >= 1), bool(documentation and version >= 3))
            forms.setdefault(keys + included + (b"\x00" if flexible else b""), form)
    if flexible:
        return _Layout(b"\x00\x02\x02", 1, _SHORT, forms, b"\x00" + bytes(4) + b"\x02" + b"\x00\x00\x01\x02")
    return _Layout(b"\x00\x00\x00\x01\x02", 2, _LONG, forms, bytes(4) + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x00\x02")


_MAX_RECEIVED: Final = 65_536  # bytes that are kept until other requests are received
_FLEXIBLE_FORM: Final = Form(_FLEXIBLE, False, False)
_LAYOUTS: Final = {
    _DESCRIBE_CONFIGS.to_bytes(2, "big") + version.to_bytes(2, "big"): _layout(version) for version in _VERSIONS
}
"""Layouts by the first four bytes of a frame: API key and version."""


class DescribeFastPath:
    """Answers from cached bytes if possible, and passes all other requests to `otherwise`."""

    def __init__(self, service: Service, counters: Counters, otherwise: Handle) -> None:
        self._service, self._counters, self._otherwise = service, counters, otherwise
        self._views: dict[bytes, View] = {}  # Views of existing topics, by name
        self._can_be_stale = service.store.can_be_stale
        self._fresh: bytes | None = None  # the data for whose requests the state was checked
        self._use(service.state)
        service.subscribe(self.on_commit, first=True)  # evict stale Views even if another subscriber fails

    def on_commit(self, revisions: Iterable[Revision]) -> None:
        """Evict the Views of changed topics."""
        for revision in revisions:
            for change in revision.changes:
                if change.resource.type == ResourceType.TOPIC:
                    self._views.pop(change.resource.name.encode(), None)

    def _use(self, state: State) -> None:
        """Use this state from now on."""
        self._state, self._resolver = state, state.resolver
        self._unknown = self._service.store.unknown
        self._response_end = response_end(_FLEXIBLE_FORM, state.snapshot.revision)

    def handle(
        self, connection: ConnectionContext, data: bytes, start: int, stop: int
    ) -> Response | Awaitable[Response]:
        # One long function, since calls are a large part of the cost of a hit.
        layout = _LAYOUTS.get(data[start : start + 4])
        if layout is None or stop - start < 10 or (data is not self._fresh and self._is_stale(data)):
            return self._otherwise(connection, data, start, stop)
        before, wide, longest, forms, head = layout
        client = data[start + 8] << 8 | data[start + 9]
        at = start + 10 + (0 if client > MAX_TEXT else client)  # negative: null
        begin = at + len(before)
        name_at = begin + wide
        if name_at < stop and data[at:begin] == before:
            size = data[begin] - 1 if wide == 1 else data[begin] << 8 | data[begin + 1]
            name_end = name_at + size
            form = forms.get(data[name_end:stop])
            if form is not None and 0 < size < longest:
                state = self._service.state
                if state is not self._state:
                    if state.resolver is not self._resolver or self._service.store.unknown is not self._unknown:
                        self._views.clear()
                    self._use(state)
                view = self._views.get(data[name_at:name_end])
                if view is None or connection.authorize is not allow_all:
                    view = self._view(state, data[name_at:name_end], connection.authorize)
                if view is not None:
                    tail = view.memo.get(form) or tail_of(view, form)
                    end = self._response_end if wide == 1 else b""
                    length = 4 + len(head) + wide + size + len(tail) + len(end)
                    self._counters.fast_path += 1
                    correlation, name = data[start + 4 : start + 8], data[begin:name_end]
                    return length, (LENGTH.pack(length), correlation, head, name, tail, end)
        return self._otherwise(connection, data, start, stop)

    def _is_stale(self, data: bytes) -> bool:
        """Check the state once for all requests that were received together, since they are answered together."""
        if self._can_be_stale and self._service.is_stale:
            return True
        self._fresh = data if len(data) <= _MAX_RECEIVED else None
        return False

    def _view(self, state: State, raw: bytes, authorize: Authorize) -> View | None:
        """The View of a topic, or None if it does not exist or the caller may not describe it."""
        view = self._views.get(raw)
        if view is None:
            if self._unknown.resources and Resource.topic(raw.decode("utf-8", "replace")) in self._unknown.resources:
                return None
            if not raw.isascii() or (name := raw.decode("ascii")) not in state.snapshot.topics:
                return None
            view = state.resolver.topic(state.snapshot.overrides(Resource.topic(name)))
            self._views[raw] = view
        if authorize is not allow_all and not authorize(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, raw.decode("ascii")):
            return None
        return view
