"""The store file is deleted or damaged while the server runs: no acknowledged change is lost, and errors are clear."""

from __future__ import annotations

import json
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kconf import AlterConfigOp, ErrorCode, KafkaError, NewTopic, OpType, Resource, SyncAdminClient
from kconf.cli.main import main
from tests.cli.conftest import run_in_process
from tests.support.process import KconfProcess

ORDERS = Resource.topic("orders")


def _health(kconf: KconfProcess) -> tuple[int, dict[str, Any]]:
    assert kconf.metrics_url is not None
    try:
        with urllib.request.urlopen(kconf.metrics_url.replace("/metrics", "/health")) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def _set(admin: SyncAdminClient, value: str) -> ErrorCode:
    done = admin.incremental_alter_configs({ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", value)]}, timeout=5)
    failure = done.failures.get(ORDERS)
    return ErrorCode.NONE if failure is None else failure.code


def _file(kconf: KconfProcess) -> Path:
    return kconf.directory / "kconf.db"


def test_a_server_whose_store_was_deleted_refuses_changes_and_is_unhealthy() -> None:
    with KconfProcess(args=["--metrics", "127.0.0.1:0"]) as kconf, SyncAdminClient(kconf.bootstrap) as admin:
        admin.create_topics([NewTopic("orders")]).raise_for_failures()
        assert _set(admin, "1") == ErrorCode.NONE
        assert _health(kconf)[0] == 200
        _file(kconf).unlink()

        status, health = _health(kconf)  # detected before any change is made
        assert (status, health["status"]) == (503, "unhealthy")
        assert "kconf.db was deleted, moved or replaced" in health["problem"]
        created = admin.create_topics([NewTopic("more")], timeout=5)
        assert created.failures["more"].code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "was deleted, moved or replaced" in (created.failures["more"].message or "")
        assert _set(admin, "2") == ErrorCode.KAFKA_STORAGE_ERROR
        assert admin.describe_configs([ORDERS])[ORDERS]["retention.ms"].value == "1"
        assert "changes are refused; restore the store and restart the server" in kconf.log()

        kconf.stop()
        with pytest.raises(Exception, match="but its key"):
            kconf.start()


def test_damage_that_is_found_while_reading_old_revisions_is_reported() -> None:
    with KconfProcess(args=["--metrics", "127.0.0.1:0"]) as kconf:
        with SyncAdminClient(kconf.bootstrap) as admin:
            admin.create_topics([NewTopic("orders")]).raise_for_failures()
            for number in range(20):
                assert _set(admin, str(number)) == ErrorCode.NONE
        kconf.stop()
        with closing(sqlite3.connect(_file(kconf), isolation_level=None)) as db:
            db.execute("UPDATE journal SET record = '[5,0,0,0,0,0,0,0,[1]]' WHERE number = 7")
        verified = run_in_process(main, ["store", "verify", kconf.store, "-o", "json"])
        kconf.start()

        assert verified.status == 1
        found = {each["part"]: each["status"] for each in json.loads(verified.out)["items"]}
        assert found == {"state": "intact", "journal": "damaged", "audit log": "intact"}
        with SyncAdminClient(kconf.bootstrap) as admin, pytest.raises(KafkaError, match="store is damaged") as raised:
            admin.list_changes(after=0)
        assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        status, health = _health(kconf)
        assert (status, health["status"]) == (503, "unhealthy")
        assert "revision 7 of the journal cannot be read" in health["problem"]
        copied = run_in_process(main, ["backup", "--store", kconf.store, str(kconf.directory / "copy.db")])
        assert (copied.status, copied.out) == (1, "")
        assert "is damaged, so it was not backed up" in copied.err
