"""The file of contexts, read and written. Everything that is wrong with it is told at once, with line and column."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kconf.cli.people.contexts import Context, Contexts
from kconf.engine.policy_tree import PolicyMistakes, Tree, Wrong
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.engine.policy_tree import Node

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
    reader = _Reader(os.path.dirname(os.path.abspath(path)))
    found = reader.read(text, path)
    if reader.mistakes:
        raise PolicyMistakes(path, dict.fromkeys(reader.mistakes))
    return found


class _Reader(Tree):
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

    def _contexts(self, node: Node) -> dict[str, Context]:
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

    def _context(self, name: str, node: Node) -> Context:
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

    def _texts(self, node: Node, what: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in self.pairs(node, what):
            if key.value in found:
                self.note(key, f"{key.value} stands twice in {what}")
            found[str(key.value)] = self._value(value, f"the value of {key.value}")
        return found

    def _value(self, node: Node, what: str) -> str:
        if node.id != "scalar":
            raise self.wrong(node, f"{what} must be a text")
        return str(node.value)

    def _path(self, node: Node, what: str) -> str:
        """A path, from the file's own directory on; an address with a scheme stays as it is."""
        text = self.text(node, what)
        return text if "://" in text else os.path.join(self.directory, os.path.expanduser(text))


def write_contexts(path: str, current: str | None, contexts: dict[str, dict[str, object]]) -> None:
    """The whole file anew, for its owner's eyes only, in one step."""
    import yaml

    document = {"version": 1, **({"current": current} if current else {}), "contexts": contexts}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
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


def plain_contexts(path: str) -> dict[str, dict[str, object]]:
    """What the file says of each context, as it was written there, to be written again."""
    import yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            document = yaml.load(file, yaml.BaseLoader)  # texts only
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    return dict((document or {}).get("contexts") or {})
