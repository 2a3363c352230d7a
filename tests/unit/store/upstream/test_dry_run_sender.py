"""The clients of dry runs are closed with the gateway, also those in use."""

from __future__ import annotations

from typing import Any

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.results import Results
from kconf.store.upstream.sender import DryRunSender

TOPIC = Resource.topic("orders")
CHANGE = ResourceAlterations(TOPIC, [AlterConfigOp(OpType.SET, "retention.ms", "1")])
PENDING = PendingCommit(RequestContext("User:ada"), 0, (), {}, [CHANGE])


class Clients:
    """Creates clients; `while_sending` is called during a call."""

    def __init__(self) -> None:
        self.open = 0
        self.while_sending: Any = lambda: None

    def _send(self, *_: object) -> Results[Any, Any]:
        self.while_sending()
        return Results({TOPIC: None})

    def close(self) -> None:
        self.open -= 1

    def create(self, _: ClientSettings) -> Clients:
        self.open += 1
        return self


@pytest.mark.parametrize("is_in_use", [False, True])
def test_a_client_is_closed_also_if_it_is_in_use(monkeypatch: pytest.MonkeyPatch, is_in_use: bool) -> None:
    clients = Clients()
    monkeypatch.setattr(SyncAdminClient, "_from_settings", clients.create)
    sender = DryRunSender(ClientSettings(Bootstrap((Address("127.0.0.1", 1),))), None)
    if is_in_use:
        clients.while_sending = sender.close
    assert sender.validate(PENDING) == {}
    assert clients.open == (0 if is_in_use else 1)
    sender.close()
    assert clients.open == 0
