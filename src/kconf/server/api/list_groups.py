"""ListGroups (16): none.

Groups live in the brokers that carry data; those that have configs are listed by ListConfigResources.
"""

from __future__ import annotations

from kconf.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kconf.server.context import ApiRequest, ServerContext


def handle(_context: ServerContext, _request: ListGroupsRequest, _call: ApiRequest) -> ListGroupsResponse:
    return ListGroupsResponse()
