"""`apply` on a kconf server is refused if a resource changed after it was read."""

from __future__ import annotations

from kconf import AlterConfigOp, ErrorCode, OpType, Resource, SyncAdminClient
from kconf.engine.declarative.diff import Difference
from kconf.model.journal import ChangeKind
from kconf.operations.declarative.requests import DifferenceSender
from tests.support.process import KconfProcess

GUARDED = Resource.topic("guarded")
WANTED = Difference(ChangeKind.CONFIG, GUARDED, "set", "retention.ms", None, "5000")


def test_a_resource_that_changed_since_it_was_read_is_refused(server: KconfProcess) -> None:
    with SyncAdminClient(server.bootstrap) as admin:
        admin.create_topics([GUARDED.name]).raise_for_failures()
        read_at = admin.list_changes(0, limit=1).current
        by_another = {GUARDED: [AlterConfigOp(OpType.SET, "retention.ms", "1000")]}
        admin.incremental_alter_configs(by_another).raise_for_failures()

        refused = DifferenceSender(admin, [WANTED], read_at, None)([GUARDED], False)
        kept = admin.describe_configs([GUARDED])[GUARDED]["retention.ms"].value
        now = admin.list_changes(0, limit=1).current
        accepted = DifferenceSender(admin, [WANTED], now, None)([GUARDED], False)

        (failure,) = refused.values()
        assert failure is not None
        assert failure.code is ErrorCode.INVALID_UPDATE_VERSION
        assert kept == "1000"
        assert list(accepted.values()) == [None]
        assert admin.describe_configs([GUARDED])[GUARDED]["retention.ms"].value == "5000"
