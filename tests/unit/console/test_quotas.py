"""Quotas: why a client is throttled, what a change would do, and its dry run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from kconf.client.contexts.context import Context
from kconf.console.cluster.snapshot import LakeFacts
from kconf.engine.quotas.precedence import Stored, StoredQuotas
from kconf.engine.quotas.what_if import what_if
from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster_state import MissingPart
from kconf.model.quota import ClientQuotaAlteration, ClientQuotaOp, EffectiveQuota, QuotaDifference, QuotaEntity
from kconf.operations.target import Target
from tests.unit.console.world import JSON, client, snapshot, topics

MIB = 1 << 20
HOSTILE = "<script>alert(1)</script>"
STORED: dict[QuotaEntity, dict[str, float]] = {
    QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 10.0 * MIB, "request_percentage": 50.0},
    QuotaEntity.of({"user": None}): {"producer_byte_rate": 5.0 * MIB},
    QuotaEntity.of({"client-id": "app"}): {"producer_byte_rate": 1.0 * MIB, "consumer_byte_rate": 2.0 * MIB},
    QuotaEntity.of({"user": HOSTILE}): {"consumer_byte_rate": 1.0},
    QuotaEntity.of({"ip": None}): {"connection_creation_rate": 100.0},
}


class Cluster:
    """An admin client of a cluster with quotas."""

    def __init__(self, stored: Stored) -> None:
        self.stored = {entity: dict(limits) for entity, limits in stored.items()}
        self.validated: list[object] = []

    def describe_quotas(self, entities: list[QuotaEntity]) -> dict[QuotaEntity, dict[str, EffectiveQuota]]:
        keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
        found = {}
        for each in entities:
            parts = dict(each.parts)
            effective = StoredQuotas(self.stored).effective(parts.get("user", ""), parts.get("client-id", ""), keys)
            found[each] = effective
        return found

    def alter_quotas(
        self, wanted: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool, reason: str | None
    ) -> SimpleNamespace:
        if validate_only:
            self.validated.append(dict(wanted))
        for entity, changes in wanted.items() if not validate_only else ():
            own = self.stored.setdefault(entity, {})
            for key, value in changes.items():
                own.pop(key, None)
                if value is not None:
                    own[key] = value
        return SimpleNamespace(failures={})

    def what_if(self, entity: QuotaEntity, changes: Mapping[str, float | None]) -> list[QuotaDifference]:
        requested = ClientQuotaAlteration(entity, tuple(ClientQuotaOp(*each) for each in changes.items()))
        return list(what_if(StoredQuotas(self.stored), [requested], [("bob", "app"), ("alice", "app")]))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster(STORED)

    @contextmanager
    def opened(_target: Target) -> Iterator[Cluster]:
        yield found

    monkeypatch.setattr(Target, "open", opened)
    return found


def console(lake: LakeFacts | None = None) -> TestClient:
    """The context `fixed` is read-only."""
    found = snapshot(replace(topics({}), quotas=STORED), lake=lake)
    return client({"home": found, "fixed": found}, [Context("fixed", "127.0.0.1:1", read_only=True)])


def page(browser: TestClient, **query: str) -> dict[str, Any]:
    found = browser.get(f"/home/quotas?{urlencode(query)}", headers=JSON)
    result: dict[str, Any] = found.json()
    return result


def verdicts(found: dict[str, Any], section: int = 0) -> dict[str, dict[str, Any]]:
    return {each["key"]: each for each in found["explanations"][section]["keys"]}


def test_the_applied_level_and_the_overridden_ones_are_shown() -> None:
    found = page(console(), **{"user": "alice", "client-id": "app"})
    keys = verdicts(found)
    produce = keys["producer_byte_rate"]
    assert (produce["value"], produce["level"], produce["entity"]) == (str(10 * MIB), "user", "user alice")
    assert produce["overrides"] == ["5MiB (default user)", "1MiB (client)"]
    assert produce["shared"] == "all client IDs of this user together"
    assert (keys["consumer_byte_rate"]["shown"], keys["consumer_byte_rate"]["level"]) == ("2MiB", "client")
    assert keys["consumer_byte_rate"]["shared"] == "all users of this client ID together"
    assert (keys["controller_mutation_rate"]["value"], keys["controller_mutation_rate"]["shown"]) == (None, "no limit")
    assert produce["used"] is None


def test_all_eight_levels_are_shown_in_order_of_precedence() -> None:
    found = page(console(), **{"user": "alice", "client-id": "app"})["explanations"][0]
    assert [each["name"] for each in found["levels"]] == [
        "client in user",
        "default client in user",
        "user",
        "client in default user",
        "default client in default user",
        "default user",
        "client",
        "default client",
    ]
    place = [each["key"] for each in found["keys"]].index("producer_byte_rate")
    outcomes = [each["values"][place]["outcome"] for each in found["levels"]]
    assert outcomes == [*["not set"] * 2, "applies", "not set", "not set", "overridden", "overridden", "not set"]


def test_each_address_has_its_own_quota() -> None:
    found = page(console(), user="alice", ip="10.0.0.7")
    assert [each["title"] for each in found["explanations"]] == ["user alice", "ip 10.0.0.7"]
    rate = verdicts(found, 1)["connection_creation_rate"]
    assert (rate["value"], rate["level"], rate["shared"]) == ("100", "default ip", "each address separately")


def test_usage_is_summed_over_all_clients_that_share_the_quota() -> None:
    used = {
        ("alice", "app", "producer_byte_rate"): 3.0 * MIB,
        ("alice", "other", "producer_byte_rate"): 1.0 * MIB,
        ("bob", "app", "producer_byte_rate"): 7.0 * MIB,
    }
    found = page(console(LakeFacts(used=used)), **{"user": "alice", "client-id": "app"})
    assert verdicts(found)["producer_byte_rate"]["used"] == "4MiB"
    assert verdicts(found)["consumer_byte_rate"]["used"] is None


def test_stored_quotas_are_listed_without_an_entity() -> None:
    found = page(console())
    assert found["total"] == 7
    assert page(console(), q="alice")["matching"] == 2
    text = console().get("/home/quotas").text
    assert HOSTILE not in text
    assert "user (default)" in text


def test_quotas_that_cannot_be_read_are_unknown_and_not_absent() -> None:
    missing = MissingPart("quotas", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    browser = client({"home": snapshot(replace(topics({}), missing=(missing,)))})
    found = page(browser, user="alice")
    assert (found["explanations"], found["total"]) == ([], None)
    assert "CLUSTER_AUTHORIZATION_FAILED" in found["notes"][0]
    assert "no limit" not in browser.get("/home/quotas?user=alice").text


# -- what if ---------------------------------------------------------------------------------------------------------

ASKED = {"user": "alice", "client-id": "app", "level": "client in user", "key": "producer_byte_rate", "value": "3MiB"}


def test_a_new_value_is_shown_with_the_resulting_level_and_affected_clients(cluster: Cluster) -> None:
    found = page(console(), **ASKED)["what_if"]
    assert found["verdict"] == "For this client: 10MiB (user) → 3MiB (client in user)."
    assert (found["before"], found["after"], found["count"]) == ("not set", "3MiB", 1)
    default = page(console(), **{**ASKED, "level": "default user", "value": "none"})["what_if"]
    assert default["verdict"].startswith("Nothing would change for this client")
    assert [(each["client"], each["before"], each["after"]) for each in default["rows"]] == [
        ("user bob, client-id app", "5MiB", "1MiB")
    ]


def test_a_default_quota_of_addresses_is_shown_as_applying_to_others() -> None:
    fields = {"ip": "10.0.0.7", "level": "default ip", "key": "connection_creation_rate", "value": "7"}
    verdict = page(console(), **fields)["what_if"]["verdict"]
    assert verdict == "For this address: 100 → 7. It applies to every address without a quota of its own."


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"value": "much"}, "producer_byte_rate"),
        ({"key": "connection_creation_rate", "value": "7"}, "is not a quota of"),
        ({"key": "nonsense"}, "is not a quota"),
    ],
)
def test_an_invalid_quota_is_reported(cluster: Cluster, changed: dict[str, str], words: str) -> None:
    found = page(console(), **{**ASKED, **changed})
    assert words in found["error"]
    assert found["what_if"] is None


def token(browser: TestClient) -> str:
    text = browser.get(f"/home/quotas?{urlencode(ASKED)}").text
    found = re.search(r'name="token" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def test_a_quota_is_saved_after_a_dry_run_and_can_be_undone(cluster: Cluster) -> None:
    browser = console()
    fields = {**ASKED, "token": token(browser)}
    sent = browser.post("/home/quotas", data=fields)
    assert sent.status_code == 303
    pair = QuotaEntity.of({"user": "alice", "client-id": "app"})
    assert cluster.validated == [{pair: {"producer_byte_rate": 3.0 * MIB}}]
    assert pair not in cluster.stored
    place = sent.headers["location"]
    row = browser.get(place, headers=JSON).json()["report"]["rows"][0]
    assert (row["resource"], row["before"], row["after"]) == ("quota:user alice, client-id app", None, "3MiB")
    assert (row["old"], row["status"]) == ("10MiB", "dry run")

    browser.post(place, data={"token": fields["token"], "do": "apply", "reason": "INC-5"})
    assert cluster.stored[pair] == {"producer_byte_rate": 3.0 * MIB}
    undo = browser.post(place, data={"token": fields["token"], "do": "undo"}).headers["location"]
    browser.post(undo, data={"token": fields["token"], "do": "apply"})
    assert cluster.stored[pair] == {}


def test_a_quota_that_changed_since_the_dry_run_is_not_overwritten(cluster: Cluster) -> None:
    browser = console()
    fields = {**ASKED, "token": token(browser)}
    place = browser.post("/home/quotas", data=fields).headers["location"]
    pair = QuotaEntity.of({"user": "alice", "client-id": "app"})
    cluster.stored[pair] = {"producer_byte_rate": 9.0}
    answer = browser.post(place, data={"token": fields["token"], "do": "apply"})
    assert "changed since the dry run" in answer.text
    assert cluster.stored[pair] == {"producer_byte_rate": 9.0}


def test_a_read_only_context_saves_nothing(cluster: Cluster) -> None:
    browser = console()
    assert "Dry run" not in browser.get(f"/fixed/quotas?{urlencode(ASKED)}").text
    answer = browser.post("/fixed/quotas", data={**ASKED, "token": token(browser)})
    assert "is read-only" in answer.text
    assert cluster.validated == []
