"""Activity: changes and refused requests, with filters in the address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from kconf.errors import ErrorCode, NotAuthorized, UnsupportedVersion
from kconf.model.acl import AclBinding, AclType, Operation
from kconf.model.journal import AuditEntry, Change, ChangeKind, RequestContext
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.attempts import latest_attempts
from kconf.operations.target import Target
from tests.unit.console.world import DAY, JSON, START, client, history, revision, set_key, snapshot, topics

MINUTE = 60_000
HOSTILE = "<script>alert(1)</script>"


def acl_change(binding: AclBinding) -> Change:
    from kconf.engine.access.acls import key_of, pattern_of

    return Change(ChangeKind.CONFIG, pattern_of(binding).resource, key_of(binding), None, "", "set")


@pytest.fixture
def browser() -> TestClient:
    quota = QuotaEntity.of({"user": "alice", "client-id": None}).resource
    secret = Change(ChangeKind.CONFIG, Resource(ResourceType.SCRAM, "ana"), "SCRAM-SHA-512", None, "f00", "set", True)
    recorded = history(
        revision(1, set_key("orders", "retention.ms", None, str(DAY)), reason="INC-1"),
        revision(2, set_key("orders.eu", "cleanup.policy", None, "compact"), by="User:bo"),
        revision(3, Change(ChangeKind.CONFIG, quota, "producer_byte_rate", None, "1048576", "set")),
        revision(4, acl_change(AclBinding(AclType.TOPIC, "orders", "User:eve", Operation.READ))),
        revision(5, secret, reason=HOSTILE),
        revision(6, set_key(HOSTILE, "retention.ms", str(DAY), None), by=f"User:{HOSTILE}"),
    )
    return client({"home": snapshot(topics({"orders": {}}), recorded)})


def page(browser: TestClient, query: str = "") -> dict[str, Any]:
    found = browser.get(f"/home/activity{query}", headers=JSON)
    assert found.status_code == 200
    result: dict[str, Any] = found.json()
    return result


def revisions(browser: TestClient, query: str) -> list[int]:
    return [each["change"]["revision"] for each in page(browser, query)["rows"]]


def test_changes_are_newest_first_with_who_what_and_why(browser: TestClient) -> None:
    found = page(browser)
    assert [each["change"]["revision"] for each in found["rows"]] == [6, 5, 4, 3, 2, 1]
    first = found["rows"][-1]
    assert (first["resource"], first["path"]) == ("topic:orders", "/home/topic/orders")
    change = first["change"]
    assert (change["key"], change["before"], change["after"]) == ("retention.ms", None, "1d")
    assert (change["who"], change["reason"], change["time"]) == ("User:ana", "INC-1", START + MINUTE)


def test_quotas_and_acls_have_readable_names(browser: TestClient) -> None:
    rows = {each["change"]["revision"]: each for each in page(browser)["rows"]}
    assert rows[3]["resource"] == "quota:user alice, client-id (default)"
    assert (rows[3]["path"], rows[3]["at_path"], rows[4]["path"]) == ("/home/quotas?user=alice", None, None)
    assert (rows[4]["resource"], rows[4]["change"]["key"]) == ("acl:topic:orders", "allow User:eve read")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?resource=topic:orders", [4, 2, 1]),
        ("?resource=orders.*", [2]),
        ("?resource=topic:orders&who=bo", [2]),
        ("?key=RETENTION", [6, 1]),
        ("?who=User:ana", [5, 4, 3, 1]),
        ("?q=inc-1", [1]),
        ("?q=1MiB", [3]),
        ("?q=alice", [3]),
        ("?q=f00", []),
        ("?q=none", []),
        (f"?from={START + 2 * MINUTE}&to={START + 4 * MINUTE}", [4, 3, 2]),
    ],
)
def test_url_parameters_filter_changes_but_not_by_the_hash_of_a_secret(
    browser: TestClient, query: str, expected: list[int]
) -> None:
    assert revisions(browser, query) == expected
    assert page(browser, query)["total"] == 6


@pytest.mark.parametrize("query", ["?from=nonsense", f"?from={START + 5}&to={START}", "?page=0", "?show=nothing"])
def test_an_invalid_filter_is_a_bad_request(browser: TestClient, query: str) -> None:
    assert browser.get(f"/home/activity{query}").status_code == 400


def test_names_principals_and_reasons_are_escaped(browser: TestClient) -> None:
    text = browser.get("/home/activity?q=%3Cscript").text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text


def test_changes_are_paged_and_only_the_first_page_is_live() -> None:
    many = (revision(number, set_key("orders", "retention.ms", None, str(number))) for number in range(1, 121))
    browser = client({"home": snapshot(topics({"orders": {}}), history(*many))})
    first, last = page(browser, "?key=retention.ms"), page(browser, "?key=retention.ms&page=3")
    assert (len(first["rows"]), first["paging"]["pages"], first["is_live"]) == (50, 3, True)
    assert first["paging"]["next_path"] == "/home/activity?key=retention.ms&page=2"
    assert [each["change"]["revision"] for each in last["rows"]] == list(range(20, 0, -1))
    assert (last["is_live"], last["paging"]["next_path"]) == (False, None)
    assert 'hx-trigger="sse:changed"' in browser.get("/home/activity").text
    assert 'hx-trigger="sse:changed"' not in browser.get("/home/activity?page=2").text


def test_the_page_explains_why_there_is_no_record() -> None:
    browser = client({"home": snapshot(topics({}), None, history_error="home has no journal")})
    found = page(browser)
    assert (found["total"], found["notes"]) == (None, ["home has no journal"])
    assert "home has no journal" in browser.get("/home/activity").text


# -- refusals --------------------------------------------------------------------------------------------------------


class AuditLog:
    """An audit log with the interface of an admin client."""

    def __init__(self, entries: Sequence[AuditEntry], error: Exception | None = None) -> None:
        self._entries, self._error = entries, error
        self.requests = 0

    def list_attempts(self, after: int = 0, *, limit: int = 1000) -> list[AuditEntry]:
        self.requests += 1
        if self._error is not None:
            raise self._error
        return [each for each in self._entries if each.number > after][:limit]


def attempt(number: int, code: ErrorCode = ErrorCode.POLICY_VIOLATION, name: str = "orders") -> AuditEntry:
    caller = RequestContext("User:bo", "app", "10.0.0.7", "IncrementalAlterConfigs", reason="try")
    return AuditEntry(START + number * MINUTE, caller, 7, Resource.topic(name), ["retention.ms"], code, False, number)


def use(monkeypatch: pytest.MonkeyPatch, log: AuditLog) -> None:
    @contextmanager
    def opened(_target: Target) -> Iterator[AuditLog]:
        yield log

    monkeypatch.setattr(Target, "open", opened)


def test_refusals_are_those_of_the_audit_log_newest_first(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    none = ErrorCode(0)
    use(monkeypatch, AuditLog([attempt(1), attempt(2, none), attempt(3, ErrorCode.INVALID_CONFIG, HOSTILE)]))
    found = page(browser, "?show=refusals")
    assert [(each["error"], each["keys"]) for each in found["refusals"]] == [
        ("INVALID_CONFIG", ["retention.ms"]),
        ("POLICY_VIOLATION", ["retention.ms"]),
    ]
    assert (found["total"], found["refusals"][1]["who"], found["refusals"][1]["host"]) == (2, "User:bo", "10.0.0.7")
    assert [each["resource"] for each in page(browser, "?show=refusals&resource=orders")["refusals"]] == [
        "topic:orders"
    ]
    assert page(browser, "?show=refusals&who=ana")["refusals"] == []
    text = browser.get("/home/activity?show=refusals").text
    assert "POLICY_VIOLATION" in text
    assert HOSTILE not in text


@pytest.mark.parametrize(
    ("error", "words"), [(UnsupportedVersion("no"), "only a kconf server"), (NotAuthorized("no"), "are unknown")]
)
def test_refusals_that_cannot_be_read_are_unknown(
    browser: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    use(monkeypatch, AuditLog([], error))
    found = page(browser, "?show=refusals")
    assert (found["refusals"], found["total"]) == ([], None)
    assert words in found["notes"][0]
    assert "No refused request" not in browser.get("/home/activity?show=refusals").text


def test_refusals_are_not_requested_from_another_kafka() -> None:
    browser = client({"home": snapshot(topics({}), None, is_kconf=False)})
    assert "only a kconf server" in page(browser, "?show=refusals")["notes"][0]


@pytest.mark.parametrize("numbers", [[], [1], range(1, 4000), [3, 5, 90_000, 90_001]])
def test_the_end_of_the_audit_log_is_found_with_few_requests(numbers: Sequence[int]) -> None:
    log = AuditLog([attempt(each) for each in numbers])
    found = latest_attempts(log, 3)  # type: ignore[arg-type]
    expected = [each for each in numbers if numbers and each > numbers[-1] - 3]
    assert [each.number for each in found] == expected[::-1]
    assert log.requests < 40
