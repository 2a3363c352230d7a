"""The table of APIs."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import kconf.protocol.messages
from kconf.protocol.apis import APIS, BY_NAME, NEVER, Api
from kconf.protocol.codec.fields import fields_of


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_an_api_has_its_request_and_response(api: Api) -> None:
    assert (api.request.__name__, api.response.__name__) == (f"{api.name}Request", f"{api.name}Response")
    assert isinstance(fields_of(api.request), tuple)
    assert api.request is api.request
    assert 0 <= api.min <= api.max


def test_an_api_is_found_by_key_and_by_name() -> None:
    assert APIS[32] is BY_NAME["DescribeConfigs"]
    assert len(APIS) == len(BY_NAME)


def test_an_api_has_supported_and_flexible_versions() -> None:
    api = BY_NAME["DescribeConfigs"]

    assert [version for version in range(-1, 6) if api.serves(version)] == [0, 1, 2, 3, 4]
    assert [version for version in range(5) if api.is_flexible(version)] == [4]
    assert not BY_NAME["SaslHandshake"].is_flexible(NEVER - 1)


def test_every_message_file_is_in_the_table() -> None:
    files = {module.name for module in pkgutil.iter_modules(kconf.protocol.messages.__path__)}

    assert files == {api.file for api in APIS.values()}


def test_importing_the_table_imports_no_messages() -> None:
    """A command imports only the messages that it sends."""
    code = "import sys, kconf.protocol.apis; print(*(name for name in sys.modules if name.startswith('kconf.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert set(loaded) == {"kconf.protocol", "kconf.protocol.apis"}
