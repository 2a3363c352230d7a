"""The connections of the SyncAdminClient."""

from __future__ import annotations

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.topics import DeleteTopics
from kconf.errors import ThrottlingQuotaExceeded
from kconf.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from tests.unit.client.fake import FakeBroker


def test_a_call_that_may_not_wait_is_not_sent_on_a_throttled_connection() -> None:
    """The broker does not read it before the throttle time is over."""
    with FakeBroker() as broker, SyncAdminClient(broker.address) as admin:
        broker.handlers["DeleteTopics"] = lambda *_: DeleteTopicsResponse(60_000, [DeletableTopicResult("t")])
        admin.delete_topics(["t"]).raise_for_failures()
        call = DeleteTopics(["t"], timeout_ms=1)
        call.longest_throttle = 59.0
        with pytest.raises(ThrottlingQuotaExceeded, match="quota of this account is exceeded"):
            admin._send(call, 30.0)
        assert [name for name, _ in broker.asked].count("DeleteTopics") == 1
        call.longest_throttle = 61.0
        admin._send(call, 30.0).raise_for_failures()
