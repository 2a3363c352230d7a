"""Look for planted secrets in everything that was written."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path


def forms(secret: str) -> Iterator[bytes]:
    """A secret as it is, and as it would look after the usual encodings."""
    plain = secret.encode()
    yield plain
    yield secret.encode("utf-16-le")
    yield plain.hex().encode()
    for shift in range(3):  # base64 looks different by where the secret begins
        whole = b64encode(bytes(shift) + plain)
        yield whole[4 if shift else 0 : len(whole) - 4]


def assert_nowhere(directory: Path, secrets: Iterable[str]) -> None:
    """No file below a directory has a secret in any of its forms."""
    files = [each for each in directory.rglob("*") if each.is_file()]
    assert files, f"nothing was written to {directory}"
    wanted = [form for secret in secrets for form in forms(secret)]
    for file in files:
        data = file.read_bytes()
        assert [form for form in wanted if form in data] == [], file
