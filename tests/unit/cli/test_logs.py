"""One line per event for any text; an exception is logged without its message."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from kconf.cli import logs

SECRET = "s3cret"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handlers, level = logging.root.handlers, logging.root.level
    monkeypatch.setattr(logging.root, "handlers", [])
    logs.configure("INFO")
    (handler,) = logging.root.handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream)
    yield stream
    logging.root.handlers = handlers
    logging.root.setLevel(level)


def test_an_event_is_one_line_of_pairs(written: io.StringIO) -> None:
    logging.getLogger("kconf.x").warning('he said "no"\r\nlevel=INFO \\ \x0b\x85\u2028')

    (line,) = written.getvalue().splitlines()
    assert line.startswith("time=20")
    assert line.endswith(r'Z level=WARN logger=kconf.x message="he said \"no\"\r\nlevel=INFO \\ \x0b\x85\x2028"')


def test_an_exception_is_logged_with_its_type_and_location(written: io.StringIO) -> None:
    def fails() -> None:
        int(SECRET)

    try:
        try:
            fails()
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError:
        logging.getLogger("kconf.x").exception("it failed")

    (line,) = written.getvalue().splitlines()
    assert SECRET not in line
    assert 'message="it failed" error="KeyError at test_logs.py:' in line
    assert "because of ValueError at test_logs.py:" in line


def test_the_error_of_the_operating_system_is_shown(written: io.StringIO) -> None:
    try:
        raise OSError(28, "No space left on device")
    except OSError:
        logging.getLogger("kconf.x").exception("it failed")

    assert "OSError (No space left on device) at" in written.getvalue()
