"""The responses to DeleteAcls if the cluster behind a gateway did not delete some ACLs."""

from __future__ import annotations

from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import AclBinding, AclType, Operation
from kconf.server.api.acls import _filter_result, _first_failure

ORDERS = AclBinding(AclType.TOPIC, "orders", "User:alice", Operation.READ)
PAYMENTS = ORDERS._replace(name="payments")
REFUSED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
LATE = ApiError(ErrorCode.REQUEST_TIMED_OUT)


def test_a_filter_fails_if_all_of_its_acls_fail() -> None:
    found = [(ORDERS, REFUSED), (PAYMENTS, REFUSED)]
    result = _filter_result(list(found))
    assert (result.error_code, result.error_message, list(result.matching_acls)) == (REFUSED.code, "no", [])
    assert _first_failure(list(found)) == REFUSED


def test_each_failed_acl_of_a_filter_has_its_own_error() -> None:
    result = _filter_result([(ORDERS, None), (PAYMENTS, LATE)])
    assert result.error_code == 0
    assert [(each.resource_name, each.error_code) for each in result.matching_acls] == [
        ("orders", 0),
        ("payments", LATE.code),
    ]
    assert _first_failure([(ORDERS, None), (PAYMENTS, LATE)]) == LATE


def test_a_filter_without_matches_is_not_an_error() -> None:
    assert (_filter_result([]).error_code, _first_failure([])) == (0, None)
