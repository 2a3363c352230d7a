"""The SCRAM credentials with which users log in to a gateway, held in memory only.

They are those of the cluster, read from its metadata log, or those of the gateway's own users (scram_file.py). They are
not part of the state, which is written to the journal, the archive and files. The thread that reads the log updates
them, so that a change applies to the next login. The event loop reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kconf.model.journal import Revision
from kconf.model.resource import ResourceType
from kconf.model.scram import Credential, Mechanism
from kconf.security.scram import to_text
from kconf.server.auth.dummy_credentials import DummyCredentials

if TYPE_CHECKING:
    from kconf.client.kraft.scram_keys import CredentialName


class UpstreamCredentials:
    """A CredentialSink. Needs no lock, because each operation is a single dictionary access."""

    def __init__(self) -> None:
        self._texts: dict[CredentialName, str] = {}
        self.replaced = 0  # how often all of them were replaced

    def __repr__(self) -> str:
        return "UpstreamCredentials([hidden])"

    def __reduce__(self) -> str:
        raise TypeError("credentials are not written anywhere")

    def put(self, name: CredentialName, credential: Credential | None) -> None:
        if credential is None:
            self._texts.pop(name, None)
        else:
            self._texts[name] = to_text(credential)

    def replace(self, credentials: Mapping[CredentialName, Credential]) -> None:
        self._texts = {name: to_text(each) for name, each in credentials.items()}
        self.replaced += 1

    def text(self, user: str, mechanism: Mechanism) -> str | None:
        """A user's credential as Kafka stores it, or None."""
        return self._texts.get((user, mechanism))

    def names(self) -> Sequence[CredentialName]:
        return list(self._texts)


class UpstreamDummyCredentials(DummyCredentials):
    """Dummy credentials with the shapes of these credentials."""

    def __init__(self, key: bytes, credentials: UpstreamCredentials) -> None:
        super().__init__(key)
        self._credentials = credentials
        self._counted: dict[CredentialName, str] = {}
        self._recount_all()

    def credential(self, mechanism: Mechanism, user: str) -> Credential:
        if self._replaced != self._credentials.replaced:
            self._recount_all()
        return super().credential(mechanism, user)

    def on_commit(self, revisions: Sequence[Revision]) -> None:
        """Count the shapes of the changed credentials again."""
        for revision in revisions:
            for change in revision.changes:
                mechanism = _MECHANISMS.get(change.key)
                if change.resource.type == ResourceType.SCRAM and mechanism is not None:
                    self._recount((change.resource.name, mechanism))

    def _recount_all(self) -> None:
        self._replaced = self._credentials.replaced
        for name in {*self._counted, *self._credentials.names()}:
            self._recount(name)

    def _recount(self, name: CredentialName) -> None:
        now, was = self._credentials.text(*name), self._counted.pop(name, None)
        for text, count in ((was, -1), (now, 1)):
            if text is not None:
                self._count(name[1].word, text, count)
        if now is not None:
            self._counted[name] = now


_MECHANISMS = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
