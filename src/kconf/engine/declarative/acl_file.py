"""Reads a gateway's own ACLs: a file that contains only ACLs, in the syntax of declarations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kconf.engine.access.acls import check_binding
from kconf.engine.declarative.access import AccessReader
from kconf.engine.declarative.reader import Gathered
from kconf.errors import ConfigurationError, KafkaError
from kconf.model.acl import AclBinding
from kconf.util.yaml.reader import ParseErrors, YamlNode


def read_acls(text: str, file: str) -> list[AclBinding]:
    """The ACLs of a file. Raises ConfigurationError with every error as `file:line:column: message`.

    A file without the section `acls` is refused: it may be truncated.
    """
    reader = _AclFileReader(file, Gathered())
    if not reader.read(text):
        raise ConfigurationError(f"{file} has no section acls; use `acls: []` for no ACLs")
    if reader.errors:
        raise ParseErrors({file: reader.errors})
    for binding, place in reader.gathered.acls.items():
        try:
            check_binding(binding)
        except KafkaError as error:
            raise ConfigurationError(f"{place}: {error}") from None
    return list(reader.gathered.acls)


class _AclFileReader(AccessReader):
    def read(self, text: str) -> bool:
        """Whether there is a section `acls`, or an error."""
        root = self.compose(text)
        if root is None:
            return bool(self.errors)
        sections: dict[str, Callable[[YamlNode], None]] = {"version": self.version, "acls": self.acls}
        fields = self.attempt(partial(self.fields, root, tuple(sections), "an ACL file")) or {}
        for name, node in fields.items():
            self.attempt(partial(sections[name], node))
        return "acls" in fields or bool(self.errors)
