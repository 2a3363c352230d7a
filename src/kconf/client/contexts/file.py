"""Reads and writes the file of contexts. All errors in it are reported together, with line and column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kconf.client.contexts.context import Context, Contexts
from kconf.errors import ConfigurationError
from kconf.util.yaml_tree import ParseErrors, Wrong, YamlTree

if TYPE_CHECKING:
    from kconf.util.yaml_tree import YamlNode

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
)
_TEXTS: Final = ("bootstrap", "user", "password", "password_command")
_FLAGS: Final = ("read_only", "protected")
_PATHS: Final = ("policy", "journal", "lake")


def read_contexts(data: bytes, path: str) -> Contexts:
    """The contexts of a file's bytes; `ConfigurationError` has every mistake as `path:line:column: sentence`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no UTF-8") from None
    reader = _ContextsReader(os.path.dirname(os.path.abspath(path)))
    found = reader.read(text, path)
    if reader.mistakes:
        raise ParseErrors(path, dict.fromkeys(reader.mistakes))
    return found


class _ContextsReader(YamlTree):
    def __init__(self, directory: str) -> None:
        super().__init__()
        self.directory = directory

    def read(self, text: str, path: str) -> Contexts:
        root = self.compose(text) if text.strip() else None
        if root is None:
            return Contexts(path)
        try:
            fields = self.fields(root, ("version", "current", "contexts"), "the file of contexts")
            if "version" in fields and self.text(fields["version"], "version") != "1":
                self.note(fields["version"], "this kconf knows version 1 of the file only")
            current = self.text(fields["current"], "current") if "current" in fields else None
            contexts = self._contexts(fields["contexts"]) if "contexts" in fields else {}
        except Wrong:
            return Contexts(path)
        if current is not None and current not in contexts and not self.mistakes:
            self.note(fields["current"], f"there is no context {current!r}")
        return Contexts(path, current, contexts)

    def _contexts(self, node: YamlNode) -> dict[str, Context]:
        found: dict[str, Context] = {}
        for key, value in self.pairs(node, "contexts"):
            name = str(key.value)
            if name in found:
                self.note(key, f"the context {name!r} stands twice")
            try:
                found[name] = self._context(name, value)
            except Wrong:
                continue
        return found

    def _context(self, name: str, node: YamlNode) -> Context:
        what = f"the context {name!r}"
        fields = self.fields(node, FIELDS, what)
        self.needed(node, fields, "bootstrap", what)
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
                self.note(key, f"{key.value} stands twice in {what}")
            found[str(key.value)] = self._value(value, f"the value of {key.value}")
        return found

    def _value(self, node: YamlNode, what: str) -> str:
        if node.id != "scalar":
            raise self.wrong(node, f"{what} must be a text")
        return str(node.value)

    def _path(self, node: YamlNode, what: str) -> str:
        """A path, from the file's own directory on; an address with a scheme stays as it is."""
        text = self.text(node, what)
        return text if "://" in text else os.path.join(self.directory, os.path.expanduser(text))


def with_current(text: str, name: str) -> str:
    """The file's text with another current context; comments and order stay."""
    root = YamlTree().compose(text) if text.strip() else None
    for key, value in root.value if root is not None else ():
        if key.value == "current":
            return text[: value.start_mark.index] + _scalar(name) + text[value.end_mark.index :]
    return f"current: {_scalar(name)}\n{text}"


def with_context(text: str, name: str, fields: Mapping[str, object]) -> str:
    """The file's text with one more context, or with another in place of the one of that name."""
    root = YamlTree().compose(text) if text.strip() else None
    contexts = next((value for key, value in root.value if key.value == "contexts"), None) if root else None
    if contexts is None or contexts.id != "mapping" or not contexts.value:
        if contexts is not None:
            text = text[: contexts.start_mark.index].rpartition("contexts")[0] + text[contexts.end_mark.index :]
        return f"{text.rstrip()}\n\ncontexts:\n{_block(name, fields, 2)}".lstrip()
    if contexts.flow_style:
        raise ConfigurationError("the contexts stand in braces; write them one below the other, to have one added")
    start = end = _end(text, contexts)
    for key, value in contexts.value:
        if key.value == name:
            start, end = text.rfind("\n", 0, key.start_mark.index) + 1, _end(text, value)
    before = text[:start]
    gap = "" if before.endswith("\n") else "\n"
    return before + gap + _block(name, fields, contexts.value[0][0].start_mark.column) + text[end:]


def _end(text: str, node: Any) -> int:
    """The end of the last line that a node stands in; comments behind that are not its own."""
    while node.id != "scalar" and node.value:
        node = node.value[-1][1] if node.id == "mapping" else node.value[-1]
    place = int(node.end_mark.index)
    if text[place - 1 : place] == "\n":
        return place
    return text.find("\n", place) + 1 or len(text)


def _block(name: str, fields: Mapping[str, object], column: int) -> str:
    import yaml

    lines = yaml.safe_dump({name: dict(fields)}, sort_keys=False, allow_unicode=True).splitlines()
    return "".join(f"{' ' * column}{line}\n" for line in lines)


def _scalar(text: str) -> str:
    import yaml

    dumped: str = yaml.safe_dump(text, allow_unicode=True)
    return dumped.removesuffix("\n").removesuffix("\n...")


def write_file(path: str, text: str) -> None:
    """The whole file anew, for its owner's eyes only, in one step."""
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
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None
