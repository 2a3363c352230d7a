"""The short way for the most frequent question: DescribeConfigs of one topic, all keys.

Such a request is the same bytes for every topic but for the name, and so is its answer but for the name and for the
entries, which live encoded with the topic's View. So the answer is made of slices and remembered parts, without reading
the request into values. Which View a topic has is remembered by its name, in one dictionary that follows the commits: a
change forgets its topic, a change of a broker level forgets all.
Whatever looks in the least unusual takes the long way (dispatch.py), which must give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kconf.model.acl import AclType, Authorize, Operation, allow_all
from kconf.model.entry import View
from kconf.model.journal import Revision
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.codec.varint import MAX_TEXT
from kconf.protocol.describe_configs_encoding import Form, response_end
from kconf.protocol.headers import LENGTH
from kconf.server.api.encoded_entries import tail_of
from kconf.service import Service, State

DESCRIBE_CONFIGS: Final = b"\x00\x20"
_FLEXIBLE: Final = 4
_TOPIC: Final = int(ResourceType.TOPIC)
_SHORT: Final = 127  # a name's length in one byte of a varint


class _Shape(NamedTuple):
    """How a version says it: what stands before the name's length, after the name, and in the answer before it."""

    before: bytes  # from the end of the client id
    wide: int  # bytes of the name's length
    forms: dict[bytes, Form]  # by what comes after the name
    head: bytes  # of the answer, from the correlation id to the name's length


def _shape(version: int) -> _Shape:
    flexible = version >= _FLEXIBLE
    flags = [(synonyms, documentation) for synonyms in (0, 1) for documentation in (0, 1)]
    forms: dict[bytes, Form] = {}
    for keys in (b"\x00\x00", b"\x01\x00") if flexible else (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"):
        for synonyms, documentation in flags:
            asked = bytes([synonyms]) * (version >= 1) + bytes([documentation]) * (version >= 3)
            form = Form(version, bool(synonyms and version >= 1), bool(documentation and version >= 3))
            forms.setdefault(keys + asked + (b"\x00" if flexible else b""), form)
    if flexible:
        return _Shape(b"\x00\x02\x02", 1, forms, b"\x00" + bytes(4) + b"\x02" + b"\x00\x00\x01\x02")
    return _Shape(b"\x00\x00\x00\x01\x02", 2, forms, bytes(4) + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x00\x02")


_SHAPES: Final = {version.to_bytes(2, "big"): _shape(version) for version in range(5)}


class DescribeFastPath:
    """Answers by the short way. It must hear of a commit before anyone can ask again: subscribe it first."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ladder = service.state.ladder
        self._views: dict[bytes, View] = {}  # of topics that there are, by name
        service.subscribe(self.follow)

    def follow(self, revisions: Iterable[Revision]) -> None:
        """Forget what is no longer true."""
        for revision in revisions:
            for change in revision.changes:
                if change.resource.type == ResourceType.TOPIC:
                    self._views.pop(change.resource.name.encode(), None)

    def answer(self, data: bytes, start: int, stop: int, authorize: Authorize) -> tuple[int, tuple[bytes, ...]] | None:
        """The answer to the frame data[start:stop], its size and its parts; None: take the long way."""
        shape = _SHAPES.get(data[start + 2 : start + 4])
        if shape is None or stop - start < 10:
            return None
        client = data[start + 8] << 8 | data[start + 9]
        at = start + 10 + (0 if client > MAX_TEXT else client)  # negative: null
        begin = at + len(shape.before)
        if begin + shape.wide >= stop or data[at:begin] != shape.before:
            return None
        if shape.wide == 1:
            size = data[begin] - 1
            if not 0 < size < _SHORT:
                return None
        else:
            size = data[begin] << 8 | data[begin + 1]
        name_at = begin + shape.wide
        form = shape.forms.get(data[name_at + size : stop])
        if form is None:
            return None
        state = self._service.state
        view = self._view(state, data[name_at : name_at + size], authorize)
        if view is None:
            return None
        tail = view.memo.get(form) or tail_of(view, form)
        end = response_end(form, state.snapshot.revision)
        length = 4 + len(shape.head) + shape.wide + size + len(tail) + len(end)
        name = data[begin : name_at + size]
        return length, (LENGTH.pack(length), data[start + 4 : start + 8], shape.head, name, tail, end)

    def _view(self, state: State, raw: bytes, authorize: Authorize) -> View | None:
        """The View of a topic; None where there is none, or where the caller may not see it."""
        if state.ladder is not self._ladder:
            self._ladder = state.ladder
            self._views.clear()
        view = self._views.get(raw)
        if view is None:
            if not raw.isascii() or (name := raw.decode("ascii")) not in state.snapshot.topics:
                return None
            view = state.ladder.topic(state.snapshot.overrides(Resource.topic(name)))
            self._views[raw] = view
        if authorize is not allow_all and not authorize(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, raw.decode("ascii")):
            return None
        return view
