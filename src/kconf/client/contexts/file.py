"""Reads and writes the contexts file. All errors in it are reported together, with line and column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from kconf.client.contexts.context import Context, Contexts
from kconf.errors import ConfigurationError
from kconf.util.yaml.reader import InvalidNode, YamlNode, YamlReader, compose
from kconf.util.yaml.writer import YamlValue, to_yaml, to_yaml_scalar

FIELDS: Final = (
    "bootstrap",
    "properties",
    "user",
    "password",
    "password_command",
    "read_only",
    "protected",
    "policy",
    "ignore",
    "journal",
    "lake",
    "labels",
    "controllers",
    "controller_properties",
)
_TEXTS: Final = ("bootstrap", "controllers", "user", "password", "password_command")
_FLAGS: Final = ("read_only", "protected")
_PATHS: Final = ("policy", "journal", "lake", "controller_properties")


def read_contexts(data: bytes, path: str) -> Contexts:
    """Parse a contexts file. Raises ConfigurationError with all errors, as `path:line:column: message`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8") from None
    reader = _ContextsReader(path)
    found = reader.read(text)
    reader.raise_errors()
    return found


class _ContextsReader(YamlReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.directory = os.path.dirname(os.path.abspath(path))

    def read(self, text: str) -> Contexts:
        root = self.compose(text)
        if root is None:
            return Contexts(self.file)
        try:
            fields = self.fields(root, ("version", "current", "contexts"), "the contexts file")
            if "version" in fields and self.text(fields["version"], "version") != "1":
                self.report(fields["version"], "this version of kconf reads version 1 of the file only")
            current = self.text(fields["current"], "current") if "current" in fields else None
            contexts = self._contexts(fields["contexts"]) if "contexts" in fields else {}
        except InvalidNode:
            return Contexts(self.file)
        if current is not None and current not in contexts and not self.errors:
            self.report(fields["current"], f"no context {current!r}")
        return Contexts(self.file, current, contexts)

    def _contexts(self, node: YamlNode) -> dict[str, Context]:
        found: dict[str, Context] = {}
        for key, value in self.pairs(node, "contexts"):
            name = str(key.value)
            if name in found:
                self.report(key, f"context {name!r} occurs twice")
            try:
                found[name] = self._context(name, value)
            except InvalidNode:
                continue
        return found

    def _context(self, name: str, node: YamlNode) -> Context:
        what = f"the context {name!r}"
        fields = self.fields(node, FIELDS, what)
        self.required(node, fields, "bootstrap", what)
        given: dict[str, object] = {each: self.text(fields[each], each) for each in _TEXTS if each in fields}
        given.update({each: self.flag(fields[each], each) for each in _FLAGS if each in fields})
        given.update({each: self._path(fields[each], each) for each in _PATHS if each in fields})
        if "ignore" in fields:
            items = self.items(fields["ignore"], "ignore") if fields["ignore"].value else []
            given["ignore"] = tuple(self.text(each, "an item of ignore") for each in items)
        if "labels" in fields:
            given["labels"] = self._texts(fields["labels"], "labels")
        if "properties" in fields:
            node = fields["properties"]
            if node.id == "mapping":
                given["properties"] = self._texts(node, "properties")
            else:
                given["properties_file"] = self._path(node, "properties")
        return Context(name, **given)  # type: ignore[arg-type]  # each was read by its type

    def _texts(self, node: YamlNode, what: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in self.pairs(node, what):
            if key.value in found:
                self.report(key, f"{key.value} occurs twice in {what}")
            found[str(key.value)] = self._value(value, f"the value of {key.value}")
        return found

    def _value(self, node: YamlNode, what: str) -> str:
        if node.id != "scalar":
            raise self.invalid(node, f"{what} must be a string")
        return str(node.value)

    def _path(self, node: YamlNode, what: str) -> str:
        """A path, relative to the file's directory. A URL is not changed."""
        text = self.text(node, what)
        return text if "://" in text else os.path.join(self.directory, os.path.expanduser(text))


def with_current(text: str, name: str) -> str:
    """The text of the file with another current context. Comments and order are preserved."""
    root = compose(text, "contexts")
    for key, value in root.value if root is not None else ():
        if key.value == "current":
            return text[: value.start_mark.index] + to_yaml_scalar(name) + text[value.end_mark.index :]
    return f"current: {to_yaml_scalar(name)}\n{text}"


def with_context(text: str, name: str, fields: Mapping[str, YamlValue]) -> str:
    """The text of the file with a context added or replaced."""
    root = compose(text, "contexts")
    contexts = next((value for key, value in root.value if key.value == "contexts"), None) if root else None
    if contexts is None or contexts.id != "mapping" or not contexts.value:
        if contexts is not None:
            text = text[: contexts.start_mark.index].rpartition("contexts")[0] + text[contexts.end_mark.index :]
        return f"{text.rstrip()}\n\ncontexts:\n{_block(name, fields, 2)}".lstrip()
    if contexts.flow_style:
        raise ConfigurationError(
            "cannot add a context to a flow mapping ({…}); write each context in block style, on lines of its own"
        )
    start = end = _end(text, contexts)
    for key, value in contexts.value:
        if key.value == name:
            start, end = text.rfind("\n", 0, key.start_mark.index) + 1, _end(text, value)
    before = text[:start]
    gap = "" if before.endswith("\n") else "\n"
    return before + gap + _block(name, fields, contexts.value[0][0].start_mark.column) + text[end:]


def without_context(text: str, name: str) -> str:
    """The text of the file without a context, also if it is `current`. Comments and order are preserved."""
    root = compose(text, "contexts")
    fields = {key.value: (key, value) for key, value in root.value} if root is not None else {}
    contexts = fields["contexts"][1]
    if contexts.flow_style:
        raise ConfigurationError(
            "cannot remove a context from a flow mapping ({…}); write each context in block style, on lines of its own"
        )
    cuts = [(key, value) for key, value in contexts.value if key.value == name]
    if len(contexts.value) == 1:
        cuts = [fields["contexts"]]
    if "current" in fields and fields["current"][1].value == name:
        cuts.append(fields["current"])
    for key, value in sorted(cuts, key=lambda each: -int(each[0].start_mark.index)):
        text = text[: text.rfind("\n", 0, key.start_mark.index) + 1] + text[_end(text, value) :]
    return text


def _end(text: str, node: YamlNode) -> int:
    """The end of the last line of a node, without comments after it."""
    while node.id != "scalar" and node.value:
        node = node.value[-1][1] if node.id == "mapping" else node.value[-1]
    place = int(node.end_mark.index)
    if text[place - 1 : place] == "\n":
        return place
    return text.find("\n", place) + 1 or len(text)


def _block(name: str, fields: Mapping[str, YamlValue], column: int) -> str:
    lines = to_yaml({name: fields}).removesuffix("\n").split("\n")
    return "".join(f"{' ' * column}{line}\n" for line in lines)


def write_file(path: str, text: str) -> None:
    """Replace the whole file atomically, readable by its owner only."""
    read_contexts(text.encode(), path)
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror}") from None
