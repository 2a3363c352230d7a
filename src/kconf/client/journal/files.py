"""A client journal in files: immutable files of JSON lines, in the archive's format.

DIR/<cluster id>/client-<time>-<random>.jsonl            what was changed, one file per call
DIR/<cluster id>/attempts-client-<time>-<random>.jsonl   what was refused; never a value
DIR/<cluster id>/begun-<time>-<random>.json              what is about to be requested, until its outcome is known
DIR/client.key                                           redacts sensitive values: 32 random bytes, mode 0600

The begun file is written before the request. After a crash or a lost response it remains and shows what may have been
done; the pipeline reads .jsonl files only, so it does not count it as done. Files are never appended to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes, token_hex
from time import time_ns
from typing import Any, Final, NamedTuple

from kconf.client.journal.base import RefusedChange
from kconf.errors import StoreMismatch, StoreUnavailable
from kconf.model.journal import AuditEntry, Change, RequestContext, Revision, redact_change
from kconf.model.lines.journal import FORMAT, attempt_line, change_lines, to_json
from kconf.model.resource import ResourceType
from kconf.model.scram import shown_iterations
from kconf.util.atomic_files import PartialFile, cluster_directory, create, private_directory

EPOCH: Final = 0  # these changes were not made through a kconf server
ORIGIN: Final = "client"
_KEY: Final = "client.key"
_KEY_BYTES: Final = 32


class JournalFileEntry(NamedTuple):
    """One call that has begun. `answered` is the time of its response in milliseconds."""

    cluster: str
    number: int
    caller: RequestContext
    begun: Path
    log_begin: int | None = None
    answered: int | None = None


class ClientJournal:
    """A directory of journal files. Several processes on several machines may share it."""

    def __init__(self, directory: str | os.PathLike[str], *, reason: str | None = None) -> None:
        self.directory = Path(directory)
        self._reason = reason
        self._last = 0
        self._user = _os_user()

    @property
    def reason(self) -> str | None:
        return self._reason

    def begin(
        self, cluster: str, caller: RequestContext, changes: Sequence[Change], log_begin: int | None = None
    ) -> JournalFileEntry:
        number = self._last = max(self._last + 1, time_ns() // 1000)
        lines = self._lines(cluster, number, caller, changes, "unknown", log_begin=log_begin)
        path = self._write(cluster, f"begun-{_stamp(number)}.json", lines)
        return JournalFileEntry(cluster, number, caller, path, log_begin)

    def answered(self, entry: JournalFileEntry) -> JournalFileEntry:
        return entry._replace(answered=time_ns() // 1_000_000)

    def end(
        self,
        entry: JournalFileEntry,
        done: Sequence[Change],
        refused: Sequence[RefusedChange],
        unknown: Sequence[Change],
        log_end: int | None = None,
    ) -> None:
        cluster, number, caller, begun, log_begin, answered = entry
        name = begun.name.removeprefix("begun-").removesuffix(".json")
        if done:
            facts = {"answered": answered, "log_begin": log_begin, "log_end": log_end}
            self._write(cluster, f"client-{name}.jsonl", self._lines(cluster, number, caller, done, "done", **facts))
        if refused:
            attempts = self._attempts(cluster, number, caller, refused)
            self._write(cluster, f"attempts-client-{name}.jsonl", attempts)
        if unknown:
            lines = self._lines(cluster, number, caller, unknown, "unknown", log_begin=log_begin)
            self._write(cluster, begun.name, lines)
        else:
            with suppress(OSError):
                begun.unlink()

    def _lines(
        self,
        cluster: str,
        number: int,
        caller: RequestContext,
        changes: Sequence[Change],
        outcome: str,
        **facts: int | None,
    ) -> list[dict[str, Any]]:
        """The lines of a file. `facts` are optional fields."""
        changes = [_redacted(each, self._key()) for each in changes]
        revision = Revision(number, number // 1000, caller, changes, ORIGIN, number)
        more: dict[str, Any] = {"os_user": self._user, "outcome": outcome}
        more |= {name: value for name, value in facts.items() if value is not None}
        return [{**line, **more} for line in change_lines(cluster, EPOCH, revision)]

    def _attempts(
        self, cluster: str, number: int, caller: RequestContext, refused: Sequence[RefusedChange]
    ) -> Iterator[dict[str, Any]]:
        by_resource: dict[Any, list[RefusedChange]] = {}
        for each in refused:
            by_resource.setdefault(each.change.resource, []).append(each)
        for place, (resource, some) in enumerate(by_resource.items()):
            keys = [each.change.key for each in some]
            code = int(some[0].failure.code)
            attempt = AuditEntry(number // 1000, caller, number, resource, keys, code, False, number + place)
            yield {**attempt_line(cluster, EPOCH, attempt), "os_user": self._user, "outcome": "refused"}

    def _key(self) -> bytes:
        path = self.directory / _KEY
        try:
            private_directory(self.directory)
            with suppress(FileExistsError):
                if not path.exists():
                    create(path, token_bytes(_KEY_BYTES))
            key = path.read_bytes()
        except OSError as error:
            raise StoreUnavailable(f"cannot write the journal in {self.directory}: {error.strerror}") from None
        if len(key) != _KEY_BYTES:
            raise StoreMismatch(
                f"{path} is not the key of a journal: it has {len(key)} bytes, not {_KEY_BYTES}; restore it"
                " from a backup, or use a new directory"
            )
        return key

    def _write(self, cluster: str, name: str, lines: Iterable[Mapping[str, Any]]) -> Path:
        directory = cluster_directory(self.directory, cluster)
        try:
            private_directory(directory)
            with PartialFile(directory) as file:
                for line in lines:
                    file.write(to_json(line).encode() + b"\n")
                return file.publish(name)
        except OSError as error:
            raise StoreUnavailable(f"cannot write the journal in {directory}: {error.strerror}") from None


def _redacted(change: Change, key: bytes) -> Change:
    """Redact secrets. The iterations of a credential are kept, since the cluster shows them too."""
    redacted = redact_change(change, key)
    if change.resource.type is not ResourceType.SCRAM or not change.sensitive:
        return redacted
    before, after = _with_iterations(redacted.before, change.before), _with_iterations(redacted.after, change.after)
    return redacted._replace(before=before, after=after)


def _with_iterations(text: str | None, credential: str | None) -> str | None:
    iterations = shown_iterations(credential)
    return text if iterations is None else f"iterations={iterations} {text}"


class JournalContents(NamedTuple):
    """The content of a cluster's journal: changes in order, refused attempts, and changes whose outcome is unknown."""

    changes: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    unknown: list[dict[str, Any]]


def read_journal(directory: str | os.PathLike[str], cluster: str) -> JournalContents:
    """Read a client journal, an archive, or both in one directory. Raises StoreMismatch for an invalid line."""
    found = JournalContents([], [], [])
    folder = cluster_directory(directory, cluster)
    try:
        names = sorted(each for each in os.listdir(folder) if not each.startswith("."))
    except FileNotFoundError:
        return found
    except OSError as error:
        raise StoreUnavailable(f"cannot read the journal in {folder}: {error.strerror}") from None
    for name in names:
        into = found.unknown if name.startswith("begun-") else found.attempts if name.startswith("attempts-") else None
        if name.endswith(".jsonl") or (name.endswith(".json") and into is found.unknown):
            (found.changes if into is None else into).extend(_lines_of(folder / name))
    found.changes.sort(key=lambda line: (line["epoch"], line["revision"], line["line"]))
    return found


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    try:
        texts = path.read_text(encoding="utf-8").split("\n")  # only \n: a value may contain U+2028
    except OSError as error:
        raise StoreUnavailable(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StoreMismatch(f"{path} is not a journal: it is not UTF-8") from None
    for number, text in enumerate(texts[:-1] if not texts[-1] else texts, 1):
        try:
            line: dict[str, Any] = json.loads(text)
            newer = line["format"] > FORMAT
        except (ValueError, KeyError, TypeError):
            raise StoreMismatch(f"{path}:{number}: not a valid journal line") from None
        if newer:
            raise StoreMismatch(f"{path} was written by a newer version of kconf")
        yield line


def _stamp(number: int) -> str:
    return f"{number:020}-{token_hex(4)}"


def _os_user() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):
        return str(os.getuid())
