"""Redaction: what may be stored and shown."""

from __future__ import annotations

import pickle

from kconf.model.journal import Change, ChangeKind, RequestContext, Revision, redact_change
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource

KEY = bytes(32)
PLAIN = Change(ChangeKind.CONFIG, Resource.brokers(), "a", "1", "2", "SET")
SECRET = Change(ChangeKind.CONFIG, Resource.brokers(), "pw", "0ld", "n3w", "SET", sensitive=True)


def test_the_repr_of_a_change_that_is_not_sensitive_shows_its_values() -> None:
    assert "before='1', after='2'" in repr(PLAIN)


def test_no_repr_shows_a_sensitive_value() -> None:
    revision = Revision(1, 2, RequestContext(), [SECRET])
    pending = PendingCommit(RequestContext(), 2, (SECRET,), {})

    shown = f"{SECRET} {SECRET!r} {revision} {revision!r} {pending} {pending!r} {[SECRET]}"

    assert "0ld" not in shown
    assert "n3w" not in shown
    assert "before='[hidden]', after='[hidden]'" in repr(SECRET)


def test_an_unset_sensitive_value_is_shown_as_unset() -> None:
    assert "before=None, after='[hidden]'" in repr(SECRET._replace(before=None))


def test_a_plain_change_is_recorded_unchanged() -> None:
    assert redact_change(PLAIN, KEY) is PLAIN


def test_a_redacted_value_shows_only_equality() -> None:
    redacted = redact_change(SECRET, KEY)
    same = redact_change(SECRET._replace(before="n3w", after="0ld"), KEY)

    assert redacted.before != redacted.after
    assert (redacted.before, redacted.after) == (same.after, same.before)
    assert redacted.after == redact_change(SECRET._replace(key="other"), KEY).after
    assert redacted.after != redact_change(SECRET, b"\1" * 32).after
    assert (redacted.resource, redacted.key, redacted.op, redacted.sensitive) == (Resource.brokers(), "pw", "SET", True)


def test_unset_values_stay_unset() -> None:
    assert redact_change(SECRET._replace(after=None), KEY).after is None


def test_a_change_is_a_tuple_and_can_be_pickled() -> None:
    assert tuple(PLAIN) == (ChangeKind.CONFIG, Resource.brokers(), "a", "1", "2", "SET", False)
    assert pickle.loads(pickle.dumps(SECRET)) == SECRET
