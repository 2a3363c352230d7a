"""A file that has ACLs only, in the syntax of declarations: the ACLs of a gateway's own."""

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
    """The ACLs of a file. Raises ConfigurationError with every error as `file:line:column: sentence`.

    A file without the section `acls` is no file of ACLs: it may have been cut off.
    """
    reader = _AclFileReader(file, Gathered())
    if not reader.read(text):
        raise ConfigurationError(f"{file} has no section acls; `acls: []` means that there are none")
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
        """Whether there is a section of ACLs, or an error."""
        root = self.compose(text)
        if root is None:
            return bool(self.errors)
        sections: dict[str, Callable[[YamlNode], None]] = {"version": self.version, "acls": self.acls}
        fields = self.attempt(partial(self.fields, root, tuple(sections), "a file of ACLs")) or {}
        for name, node in fields.items():
            self.attempt(partial(sections[name], node))
        return "acls" in fields or bool(self.errors)
