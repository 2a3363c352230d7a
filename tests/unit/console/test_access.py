"""Access: who can do what, the review of ACLs, SCRAM users."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from kconf.model.cluster_state import MissingPart
from kconf.model.scram import CredentialInfo, Mechanism
from kconf.operations.access.review import DENIED, EVERYBODY, EVERYTHING, NO_TOPIC, NO_TOPICS, review
from tests.unit.console.world import JSON, client, snapshot, topics

HOSTILE = "<script>alert(1)</script>"
READ, WRITE, ALL = Operation.READ, Operation.WRITE, Operation.ALL


def on_topic(name: str, principal: str, operation: Operation = READ, **more: Any) -> AclBinding:
    return AclBinding(AclType.TOPIC, name, principal, operation, **more)


ACLS = [
    on_topic("orders", "User:ana"),
    on_topic("ord", "User:bo", ALL, pattern=PatternType.PREFIXED),
    on_topic("*", "User:cy", host="10.0.0.7"),
    on_topic("orders", "User:eve"),
    on_topic("orders", "User:eve", ALL, permission=Permission.DENY),
    on_topic("gone", f"User:{HOSTILE}", WRITE),
]


def console(*missing: MissingPart, acls: list[AclBinding] | None = None) -> TestClient:
    users = {
        "ana": (CredentialInfo(Mechanism.SCRAM_SHA_512, 8192), CredentialInfo(Mechanism.SCRAM_SHA_256, 4096)),
        HOSTILE: (CredentialInfo(Mechanism.SCRAM_SHA_256, 4096),),
    }
    found = ACLS if acls is None else acls
    state = replace(topics({"orders": {}}), acls=tuple(found), users=users, missing=missing)
    return client({"home": snapshot(state)})


def page(browser: TestClient, path: str, **query: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/home/access{path}?{urlencode(query)}", headers=JSON).json()
    return found


# -- who can ---------------------------------------------------------------------------------------------------------


def test_literal_prefixed_and_wildcard_acls_allow_and_a_deny_excludes() -> None:
    found = page(console(), "", resource="topic:orders", operation="read")
    by_whom = {each["principal"]: each for each in found["grants"]}
    assert list(by_whom) == ["User:ana", "User:bo", "User:cy"]
    assert [each["resource"] for each in by_whom["User:bo"]["through"]] == ["topic:ord*"]
    assert (by_whom["User:cy"]["host"], by_whom["User:cy"]["through"][0]["resource"]) == ("10.0.0.7", "topic:*")
    assert [(each["principal"], each["operation"]) for each in found["denied"]] == [("User:eve", "all")]
    assert any("super.users" in each for each in found["notes"])


def test_reading_implies_describing() -> None:
    found = page(console(), "", resource="topic:orders", operation="describe")
    assert "User:ana" in [each["principal"] for each in found["grants"]]


def test_if_no_acl_allows_an_operation_the_page_names_the_deciding_setting() -> None:
    nobody = page(console(), "", resource="cluster", operation="alter")
    assert nobody["grants"] == []
    assert "allow.everyone.if.no.acl.found" in nobody["notes"][0]


@pytest.mark.parametrize(
    ("resource", "operation"), [("orders", "read"), ("topic:orders*", "read"), ("group:app", "write")]
)
def test_an_invalid_question_is_reported(resource: str, operation: str) -> None:
    found = page(console(), "", resource=resource, operation=operation)
    assert found["error"]
    assert found["grants"] is None


def test_a_missing_authorizer_is_reported_and_hidden_acls_are_unknown() -> None:
    disabled = MissingPart("acls", ApiError(ErrorCode.SECURITY_DISABLED))
    hidden = MissingPart("acls", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    asked = {"resource": "topic:orders", "operation": "read"}
    found = page(console(disabled, acls=[]), "", **asked)
    assert (found["grants"], "no authorizer" in found["notes"][0]) == (None, True)
    found = page(console(hidden, acls=[]), "", **asked)
    assert (found["grants"], found["notes"]) == (None, ["ACLs are unknown: CLUSTER_AUTHORIZATION_FAILED"])
    assert page(console(hidden, acls=[]), "/acls")["total"] is None


# -- review ----------------------------------------------------------------------------------------------------------


def test_a_review_finds_acls_that_allow_too_much_or_have_no_effect() -> None:
    everybody = on_topic("*", "User:*", ALL)
    lost = on_topic("logs.", "User:ana", pattern=PatternType.PREFIXED)
    group = AclBinding(AclType.GROUP, "app", "User:ana", READ)
    found = review([*ACLS, everybody, lost, group], ["orders", "other"])
    assert found == {
        ACLS[3]: [DENIED],
        ACLS[5]: [NO_TOPIC],
        everybody: [EVERYBODY, EVERYTHING],
        lost: [NO_TOPICS],
    }


def test_no_topic_is_reported_as_missing_if_topics_are_unknown() -> None:
    assert review([on_topic("gone", "User:ana")], None) == {}
    missing = MissingPart("topics", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    found = page(console(missing), "/acls")
    assert [each["findings"] for each in found["rows"] if each["resource"] == "topic:gone"] == [[]]
    assert "could not be listed" in found["notes"][0]


@pytest.mark.parametrize(
    ("query", "principals"),
    [
        ({}, ["User:<", "User:ana", "User:bo", "User:cy", "User:eve", "User:eve"]),
        ({"principal": "user:EVE", "permission": "deny"}, ["User:eve"]),
        ({"resource": "topic:ord"}, ["User:ana", "User:bo", "User:eve", "User:eve"]),
        ({"operation": "write"}, ["User:<"]),
        ({"findings": "1"}, ["User:<", "User:eve"]),
        ({"q": "no effect"}, ["User:eve"]),
    ],
)
def test_acls_are_filtered_by_url_parameters(query: dict[str, str], principals: list[str]) -> None:
    found = page(console(), "/acls", **query)
    assert [each["principal"].partition("script")[0] for each in found["rows"]] == principals
    assert (found["total"], found["with_findings"]) == (6, 2)


def test_acls_are_paged() -> None:
    many = [on_topic(f"topic-{number:03}", "User:ana") for number in range(250)]
    found = page(console(acls=many), "/acls", page="3")
    assert (len(found["rows"]), found["paging"]["pages"], found["paging"]["next_path"]) == (50, 3, None)


# -- users -----------------------------------------------------------------------------------------------------------


def test_users_have_mechanisms_and_iterations() -> None:
    found = page(console(), "/users", q="ana")["rows"]
    credentials = [
        {"mechanism": "SCRAM-SHA-256", "iterations": 4096},
        {"mechanism": "SCRAM-SHA-512", "iterations": 8192},
    ]
    assert found == [{"name": "ana", "path": "/home/user/ana", "credentials": credentials, "acls": 1}]


def test_users_that_may_not_be_listed_are_unknown() -> None:
    missing = MissingPart("users", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    found = page(console(missing), "/users")
    assert (found["total"], found["notes"]) == (None, ["SCRAM users are unknown: CLUSTER_AUTHORIZATION_FAILED"])


@pytest.mark.parametrize("path", ["?resource=topic:gone&operation=write", "/acls", "/users"])
def test_principals_are_escaped(path: str) -> None:
    text = console().get(f"/home/access{path}").text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text
