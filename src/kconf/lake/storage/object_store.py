"""A client of object stores, for what neither Spark nor deltalake does: conditional writes and listings.

It finds credentials itself, in the environment or by the role of the machine, as deltalake does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kconf.lake.storage.errors import store_error
from kconf.lake.storage.location import LakeError, endpoint, is_s3

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_RETRIES: Final = 3


def open_store(uri: str) -> ObjectStore:
    """A client for the objects below a URI. It connects with the first request."""
    try:
        from obstore.store import from_url
    except ImportError:
        raise LakeError("a lake on an object store requires the package obstore: pip install 'kconf[spark]'") from None
    retries: Any = {"max_retries": _RETRIES}
    address = endpoint()
    if not is_s3(uri) or address is None:
        return from_url(uri, retry_config=retries)
    options: Any = {"allow_http": True} if address.startswith("http://") else {}
    return from_url(uri, config={"endpoint": address}, client_options=options, retry_config=retries)


@contextmanager
def plain_errors(what: str) -> Iterator[None]:
    """Errors of the store as a LakeError that begins with `what`."""
    try:
        yield
    except LakeError:
        raise
    except Exception as error:  # the client has no common class for its errors; some are Python's own
        raise LakeError(f"{what}: {store_error(error)}") from None


def size_below(uri: str, limit: int) -> int:
    """The bytes of all objects below a URI; counting ends at `limit`. Raises LakeError if the store refuses."""
    total = 0
    with plain_errors(f"cannot read {uri}"):
        for page in open_store(uri).list():
            total += sum(each["size"] for each in page)
            if total >= limit:
                break
    return total
