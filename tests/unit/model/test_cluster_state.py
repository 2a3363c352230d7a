"""Parts of a cluster that could not be read: refused, or not supported."""

from __future__ import annotations

import pytest

from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster_state import MissingPart


@pytest.mark.parametrize(
    ("code", "is_absent"),
    [
        (ErrorCode.SECURITY_DISABLED, True),  # ACLs of a cluster without an authorizer
        (ErrorCode.UNSUPPORTED_VERSION, True),  # an API that the release does not have
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, False),
        (ErrorCode.REQUEST_TIMED_OUT, False),
    ],
)
def test_only_what_a_cluster_cannot_have_is_absent(code: ErrorCode, is_absent: bool) -> None:
    assert MissingPart("acls", ApiError(code)).is_absent == is_absent
