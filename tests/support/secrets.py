"""Searches files and output for secrets, also in common encodings.

A test uses unique secrets, runs the process, and calls `assert_nowhere` with the directory that it wrote to. gzip and
Parquet files are decompressed.
"""

from __future__ import annotations

import gzip
import json
import stat
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote


def forms(secret: str) -> dict[str, bytes]:
    """The secret and its common encodings."""
    plain = secret.encode()
    found = {
        "as it is": plain,
        "hex": plain.hex().encode(),
        "HEX": plain.hex().upper().encode(),
        "UTF-16-LE": secret.encode("utf-16-le"),
        "UTF-16-BE": secret.encode("utf-16-be"),
        "JSON": json.dumps(secret)[1:-1].encode(),
        "URL": quote(secret, safe="").encode(),
    }
    for before in range(3):  # base64 encodes groups of three bytes; the secret may start at any of them
        inner = (3 - before) % 3
        middle = plain[inner : len(plain) - (len(plain) - inner) % 3]
        found[f"base64 at {before}"] = b64encode(middle)
        found[f"URL-safe base64 at {before}"] = urlsafe_b64encode(middle)
    return {form: data for form, data in found.items() if len(data) >= 6}


def leaks(data: bytes, secrets: Iterable[str]) -> list[str]:
    """Which secrets are in the data, and in which encoding, without the secrets themselves."""
    return [
        f"secret {number} ({form})"
        for number, secret in enumerate(secrets, 1)
        for form, data_of in forms(secret).items()
        if data_of in data
    ]


def assert_unsaid(said: str | bytes, secrets: Iterable[str], where: str = "what was said") -> None:
    found = leaks(said.encode(errors="surrogateescape") if isinstance(said, str) else said, secrets)
    assert not found, f"{where} has {', '.join(found)}"


def assert_nowhere(directory: Path, secrets: Iterable[str], *, but: Collection[str] = ()) -> int:
    """Assert that no file name or content has a secret, except the given files; returns the number of files read."""
    wanted, read = tuple(secrets), 0
    assert wanted, "there is nothing to look for"
    for file in sorted(each for each in directory.rglob("*") if each.is_file()):
        if file.name not in but:
            for data in _contents(file):
                assert_unsaid(data, wanted, str(file.relative_to(directory)))
            read += 1
    assert read, f"nothing was written to {directory}"
    return read


def assert_private(files: Iterable[Path]) -> None:
    """Assert that only their owner can access them."""
    open_to_others = [each.name for each in files if stat.S_IMODE(each.stat().st_mode) & 0o077]
    assert not open_to_others


def _contents(file: Path) -> Iterator[bytes]:
    yield file.name.encode()
    data = file.read_bytes()
    yield data
    if data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)
    if data.startswith(b"PAR1"):
        import pyarrow.parquet as parquet

        yield str(parquet.read_table(file).to_pylist()).encode()
