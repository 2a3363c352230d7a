"""Maps URLs to stores, by scheme.

docs/how-to/extend.md has the steps to add a kind of store. A backend is imported when it is used, since some need an
optional package: the extra `kconf[<scheme>]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Final

from kconf.errors import ConfigurationError
from kconf.security.value_cipher import NO_SECRETS, Secrets
from kconf.store.base import Backend, Backup, InitialIdentity, Store, Verification

_BACKENDS: Final[Mapping[str, str]] = {
    "sqlite:///FILE": "kconf.store.sqlite.backend",
    "zookeeper://HOST:PORT/CHROOT": "kconf.store.zookeeper.backend",
    "memory:": "kconf.store.memory",
}
"""The URL format of each kind of store, and the module of its `BACKEND`."""

_FOR_TESTS: Final = "memory:"


def open_store(url: str, secrets: Secrets = NO_SECRETS, *, read_only: bool = False) -> Store:
    """Open a store. `secrets` encrypt its sensitive values.

    `read_only` is for a ZooKeeper that only Kafka writes to: not even kconf's own znodes are created.
    """
    backend = backend_of(url)
    if read_only and backend.open_read_only is not None:
        return backend.open_read_only(url, secrets)
    return backend.open(url, secrets)


def check_store_exists(url: str, secrets: Secrets = NO_SECRETS) -> None:
    """Raise an error if the store does not exist, so that a misspelled URL does not create one."""
    backend = backend_of(url)
    if backend.open_read_only is not None:
        backend.open_read_only(url, secrets).close()
        return
    path = url.removeprefix("sqlite:///")
    if path != url and not Path(path).exists():
        raise ConfigurationError(f"no store at {url}")


def initialize_store(url: str, identity: InitialIdentity, secrets: Secrets) -> AbstractContextManager[Store]:
    """Create a store to be filled. It can be opened after the block ends; after an error, nothing is left."""
    backend = backend_of(url)
    if backend.initialize is None:
        raise ConfigurationError(f"cannot copy to {url!r}: use {_url_forms()}")
    return backend.initialize(url, identity, secrets)


def backup_store(url: str, target: Path, *, overwrite: bool = False) -> Backup:
    """Copy a store to a file. A server may be using it."""
    backend = backend_of(url)
    if backend.backup is None:
        raise ConfigurationError(f"cannot back up {url!r} to a file: use sqlite:///FILE, or kconf store copy")
    return backend.backup(url, target, overwrite)


def open_damaged_store(url: str, secrets: Secrets) -> Store:
    """Open a store with a damaged journal whose state is intact. Raises StoreDamaged."""
    backend = backend_of(url)
    return (backend.open_damaged or backend.open)(url, secrets)


def verify_store(url: str) -> Verification:
    """Check a store for damage. A server may be using it."""
    backend = backend_of(url)
    if backend.verify is None:
        raise ConfigurationError(f"cannot verify {url!r}: only the files of SQLite stores can be verified")
    return backend.verify(url)


def backend_of(url: str) -> Backend:
    for form, module in _BACKENDS.items():
        if url.startswith(_prefix(form)):
            return _load(module, url)
    raise ConfigurationError(f"unknown store {url!r}: use {_url_forms()}")


def _load(module: str, url: str) -> Backend:
    try:
        backend: Backend = import_module(module).BACKEND
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("kconf"):
            raise
        package, extra = error.name.partition(".")[0], url.partition(":")[0]
        raise ConfigurationError(f"{url} requires the package {package}: pip install 'kconf[{extra}]'") from None
    return backend


def _prefix(form: str) -> str:
    """The URL format up to the first placeholder: `sqlite:///` of `sqlite:///FILE`."""
    scheme, _, rest = form.partition(":")
    return f"{scheme}:{'/' * (len(rest) - len(rest.lstrip('/')))}"


def _url_forms() -> str:
    return " or ".join(form for form in _BACKENDS if form != _FOR_TESTS)
