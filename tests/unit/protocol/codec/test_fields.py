"""Features of declared structs."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.protocol.codec.fields import I8, STRING, f, fields_of, struct
from kconf.protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from kconf.protocol.messages.incremental_alter_configs import IncrementalAlterableConfig
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateRequest


@struct
class Point:
    """A point."""

    x: int = f(I8)
    y: int = f(I8, default=3)
    word: str | None = f(STRING, nullable=0, default=None, secret=True)


def test_a_struct_is_created_by_position_or_by_name_and_can_be_modified() -> None:
    point = Point(1)
    point.x = 2

    assert (point.x, point.y) == (2, 3)
    assert Point(y=4, x=1).y == 4


def test_fields_without_a_default_are_required() -> None:
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]  # that is the point


def test_a_struct_does_not_accept_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 5  # type: ignore[attr-defined]  # that is the point


def test_structs_are_equal_by_their_values() -> None:
    assert Point(1) == Point(1, 3)
    assert Point(1) != Point(2)
    other: object = (1, 3, None)
    assert Point(1) != other


def test_a_struct_can_be_used_in_a_match_statement() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_struct_has_its_name_docstring_and_fields() -> None:
    assert (Point.__name__, Point.__doc__, Point.__module__) == ("Point", "A point.", __name__)
    assert [field.name for field in fields_of(Point)] == ["x", "y", "word"]


def test_a_repr_hides_what_is_secret() -> None:
    assert repr(Point(1, 2, "hush")) == "Point(x=1, y=2, word=[hidden])"
    assert repr(Point(1)) == "Point(x=1, y=3, word=None)"


@pytest.mark.parametrize(
    "value",
    [
        IncrementalAlterableConfig("ssl.key.password", 0, "s3cret"),
        ScramCredentialUpsertion("alice", 1, 4096, b"s3cret", b"s3cret"),
        SaslAuthenticateRequest(b"\x00alice\x00s3cret"),
    ],
)
def test_nothing_that_could_be_a_password_is_in_a_repr(value: Any) -> None:
    assert "s3cret" not in repr(value)
    assert "[hidden]" in repr(value)
