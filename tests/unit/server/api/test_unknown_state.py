"""Requests about what the cluster behind a gateway does not show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kconf.errors import ApiError, ErrorCode
from kconf.model.resource import ResourceType
from kconf.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kconf.server.api.unknown_state import guarded
from kconf.store.base import UnknownParts

LIST = 74


def listed(kind: ResourceType, wanted: list[int], version: int = 1) -> Any:
    """The error code of ListConfigResources where a kind is unknown; None: it was answered."""
    unknown = UnknownParts({kind: ApiError(ErrorCode.SECURITY_DISABLED, "no")}, {})
    context: Any = SimpleNamespace(service=SimpleNamespace(store=SimpleNamespace(unknown=unknown)))
    call: Any = SimpleNamespace(version=version)
    handler = guarded({LIST: lambda *_: SimpleNamespace(error_code=None)})[LIST]
    return handler(context, ListConfigResourcesRequest(wanted), call).error_code


@pytest.mark.parametrize("wanted", [[], [2, 4, 8, 16, 32], [2]])
def test_a_list_of_configs_does_not_depend_on_acls_users_and_quotas(wanted: list[int]) -> None:
    for kind in (ResourceType.ACL, ResourceType.SCRAM, ResourceType.QUOTA):
        assert listed(kind, wanted) is None


def test_a_list_of_configs_fails_only_if_it_would_contain_unknown_resources() -> None:
    assert listed(ResourceType.GROUP, []) == ErrorCode.SECURITY_DISABLED
    assert listed(ResourceType.GROUP, [2, 32]) == ErrorCode.SECURITY_DISABLED
    assert listed(ResourceType.GROUP, [2]) is None
    assert listed(ResourceType.GROUP, [], version=0) is None
    assert listed(ResourceType.CLIENT_METRICS, [], version=0) == ErrorCode.SECURITY_DISABLED
