"""The location of a lake or archive: a local directory or an object store URI. Also the errors raised if it cannot be
used.

Credentials are never part of a URI or a setting: deltalake and hadoop-aws find them themselves, in the environment
(`AWS_ACCESS_KEY_ID`, …) or by the role of the machine. Only the address of a store is passed on.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from kconf.errors import ConfigurationError, KconfError

S3: Final = frozenset({"s3", "s3a"})
_AZURE: Final = frozenset({"abfs", "abfss"})
_HDFS: Final = "hdfs"
_OTHERS: Final = frozenset({"gs", _HDFS, *_AZURE})


class LakeError(KconfError):
    """The lake cannot be read or written; the message has the reason."""


class NoLake(LakeError):
    """There is no lake, or one of its tables is missing."""


class LakeBusy(LakeError):
    """Another run is using this lake."""


def local_path(uri: str) -> Path | None:
    """The local directory of a path or file: URI; None for other locations."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(uri).absolute() if len(parts.scheme) < 2 else None  # one letter is a Windows drive


def located(uri: str) -> str:
    """A path or URI in one form, without a trailing slash. Raises ConfigurationError if it cannot be used.

    A message never repeats the text before an @, which may be a password.
    """
    local = local_path(uri)
    if local is not None:
        return str(local)
    parts = urlsplit(uri)
    if parts.password is not None or (parts.username is not None and parts.scheme not in _AZURE):
        raise ConfigurationError(
            f"a {parts.scheme}:// URI must not contain credentials; set environment variables (for S3:"
            " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or use the role of the machine"
        )
    if parts.scheme not in S3 | _OTHERS:
        known = ", ".join(f"{each}://" for each in ("s3", *sorted(_OTHERS)))
        raise ConfigurationError(f"{parts.scheme}:// is not supported; use a directory, {known}")
    if not parts.netloc:
        raise ConfigurationError(f"{uri} has no bucket; use {parts.scheme}://BUCKET/PATH")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"a {parts.scheme}:// URI must not contain ? or #")
    scheme = "s3" if parts.scheme in S3 else parts.scheme
    return f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def is_object_store(uri: str) -> bool:
    return local_path(uri) is None and urlsplit(uri).scheme != _HDFS


def is_s3(uri: str) -> bool:
    return urlsplit(uri).scheme in S3


def spark_uri(uri: str) -> str:
    """The same location for Spark: the scheme of hadoop-aws is s3a."""
    return f"s3a{uri.removeprefix('s3')}" if uri.startswith("s3://") else uri


def endpoint() -> str | None:
    """The address of an S3 server other than AWS, from the environment. Others can see it, so it has no password."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        found = os.environ.get(name)
        if not found:
            continue
        if "@" in found:
            raise ConfigurationError(
                f"{name} must not contain credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use the role"
                " of the machine"
            )
        return found
    return None


def storage_options(uri: str) -> dict[str, str]:
    """The options of deltalake for a location, without credentials."""
    address = endpoint()
    if not is_s3(uri) or address is None:
        return {}
    options = {"aws_endpoint_url": address}
    return {**options, "aws_allow_http": "true"} if address.startswith("http://") else options
