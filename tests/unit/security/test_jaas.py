"""`sasl.jaas.config` is parsed as Java parses it."""

from __future__ import annotations

import pytest

from kconf import ConfigurationError
from kconf.security.jaas import parse


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a.B required;", {}),
        ('a.B required x="1" y=2;', {"x": "1", "y": "2"}),
        ("a.B REQUIRED\n  x='1 2'\n  y = \"3\" ;\n", {"x": "1 2", "y": "3"}),
        (r'a.B optional p="q\"u\\o;te" q="=;";', {"p": 'q"u\\o;te', "q": "=;"}),
        ('a.B required p="pä\u00a0ss";', {"p": "pä\u00a0ss"}),
    ],
)
def test_login_modules_are_read_as_java_reads_them(text: str, options: dict[str, str]) -> None:
    assert parse(text) == ("a.B", options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.B",
        "a.B required",
        'a.B required x="s3cret"',
        'a.B required x="s3cret',
        "a.B sometimes x=s3cret;",
        "a.B required x=s3cret; c.D required;",
        'a.B required "s3cret";',
    ],
)
def test_an_invalid_login_module_is_refused_without_printing_it(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse(text)
    assert "s3cret" not in str(raised.value)
