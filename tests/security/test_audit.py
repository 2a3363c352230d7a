"""Every alteration is recorded: API × outcome. Accepted ones in the journal; refused ones and dry runs as attempts.

Each line has the principal, the client, its host, the API and the outcome. A row of the table has a valid request, an
invalid one, one that a policy refuses (if policies apply), and whether the API has dry runs.
"""

# ruff: noqa: E501 – a row of the table is a line

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from kconf import AclBinding, AclType, Mechanism, Operation, SyncAdminClient, scram_upsertion
from kconf.model.journal import AuditEntry, Revision
from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.messages.alter_client_quotas import AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, WantedQuota
from kconf.protocol.messages.alter_user_scram_credentials import ScramCredentialDeletion, ScramCredentialUpsertion
from kconf.protocol.messages.create_acls import AclCreation
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.delete_acls import DeleteAclsFilter
from kconf.protocol.messages.delete_topics import DeleteTopicState
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.describe_quotas import QuotaResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from kconf.server.api.router import DATA_PLANE, HANDLERS
from tests.policies import recorder
from tests.security.sasl_server import ALICE, PLAIN_MODULE, ROOT, User
from tests.security.test_sasl_state import Line
from tests.support.admin import new_topic
from tests.support.process import HOST, KconfProcess

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
DOOMED, GROWING, ORDERS = "audit.doomed", "audit.growing", "audit.orders"
MISER = "miser"  # whose credential is deleted
Fields = dict[str, Any]


class Bad(NamedTuple):
    fields: Fields
    code: int


@dataclass(frozen=True)
class Row:
    api: str
    good: Fields
    bad: Bad
    codes: Callable[[Any], Iterable[int]]
    unauthorised: int
    policy: Fields | None = None
    dry: bool = False
    what: str = ""

    @property
    def name(self) -> str:
        return f"{self.api} {self.what}".strip()


def each(field: str) -> Callable[[Any], Iterable[int]]:
    return lambda answer: [one.error_code for one in getattr(answer, field)]


def of_quotas(answer: Any) -> Iterable[int]:
    return [one.error_code for resource in answer.resources for one in resource.quotas]


def replace(kind: int, name: str, key: str, value: str) -> Fields:
    return {"resources": [AlterConfigsResource(kind, name, [AlterableConfig(key, value)])]}


def alter(kind: int, name: str, key: str, value: str | None) -> Fields:
    return {"resources": [IncrementalAlterConfigsResource(kind, name, [IncrementalAlterableConfig(key, 0, value)])]}


def create(name: str, partitions: int = 1) -> Fields:
    return {"topics": [new_topic(name, partitions, 1)], "timeout_ms": 1000}


def delete(name: str) -> Fields:
    return {"topics": [DeleteTopicState(name)], "timeout_ms": 1000}


def grow(name: str, count: int) -> Fields:
    return {"topics": [CreatePartitionsTopic(name, count)], "timeout_ms": 1000}


def quota(entity: str, key: str) -> Fields:
    return {"entries": [AlteredQuota([QuotaEntityPart(entity, "u")], [QuotaOp(key, 1.0, False)])]}


def quota_248(kind: int, quota_type: int) -> Fields:
    return {"resources": [AlteredQuotaResource([QuotaResource(kind, "v")], [WantedQuota(quota_type, 1.0)])]}


def acl(principal: str) -> Fields:
    return {"creations": [AclCreation(2, "x", 3, principal, "*", 3, 3)]}


def scram(iterations: int) -> Fields:
    made = scram_upsertion("scrooge", Mechanism.SCRAM_SHA_256, "s", iterations=4096)
    requested = ScramCredentialUpsertion(made.user, made.mechanism, iterations, made.salt, made.salted_password)
    return {"deletions": [], "upsertions": [requested]}


def entity(kind: str, name: str, key: str, value: str) -> Fields:
    return {"entities": [AlteredEntity(kind, name, [AddedConfigEntry(key, value)], [])]}


REFUSED = recorder.REFUSED_VALUE
NO_TOPIC, NO_CLUSTER, NO_GROUP = 29, 31, 30
INVALID_REQUEST, INVALID_CONFIG, POLICY_VIOLATION = 42, 40, 44

ROWS = [
    Row("AlterConfigs", replace(TOPIC, ORDERS, "retention.ms", "1"), Bad(replace(TOPIC, ORDERS, "retention.ms", "x"), INVALID_CONFIG), each("responses"), NO_TOPIC, replace(TOPIC, ORDERS, "retention.ms", REFUSED), True, "topic"),
    Row("AlterConfigs", replace(BROKER, "", "log.retention.ms", "1"), Bad(replace(BROKER, "", "log.retention.ms", "x"), INVALID_REQUEST), each("responses"), NO_CLUSTER, None, True, "brokers"),
    Row("IncrementalAlterConfigs", alter(TOPIC, ORDERS, "retention.ms", "2"), Bad(alter(TOPIC, "audit.missing", "retention.ms", "2"), 3), each("responses"), NO_TOPIC, alter(TOPIC, ORDERS, "retention.ms", REFUSED), True, "topic"),
    Row("IncrementalAlterConfigs", alter(BROKER, "1", "log.retention.ms", "2"), Bad(alter(BROKER, "1", "log.retention.ms", "x"), INVALID_REQUEST), each("responses"), NO_CLUSTER, alter(BROKER, "1", "log.retention.ms", REFUSED), True, "broker"),
    Row("IncrementalAlterConfigs", alter(METRICS, "m", "interval.ms", "2000"), Bad(alter(METRICS, "m", "interval.ms", "x"), INVALID_CONFIG), each("responses"), NO_CLUSTER, None, True, "client metrics"),
    Row("IncrementalAlterConfigs", alter(GROUP, "g", "consumer.session.timeout.ms", "50000"), Bad(alter(GROUP, "g", "consumer.session.timeout.ms", "x"), INVALID_CONFIG), each("responses"), NO_GROUP, None, True, "group"),
    Row("IncrementalAlterConfigs", alter(LOGGER, "1", "root", "INFO"), Bad(alter(LOGGER, "1", "root", "LOUD"), INVALID_CONFIG), each("responses"), NO_CLUSTER, None, True, "logger"),
    Row("CreateTopics", create("audit.new"), Bad(create("audit.newer", 0), 37), each("topics"), NO_TOPIC, create("audit.create.REFUSE"), True),
    Row("CreatePartitions", grow(GROWING, 2), Bad(grow(GROWING, 0), 37), each("results"), NO_TOPIC, grow(GROWING, 6), True),
    Row("DeleteTopics", delete(DOOMED), Bad(delete("audit.missing"), 3), each("responses"), NO_TOPIC),
    Row("CreateAcls", acl("User:x"), Bad(acl("nobody"), INVALID_REQUEST), each("results"), NO_CLUSTER),
    Row("DeleteAcls", {"filters": [DeleteAclsFilter(2, "deleted")]}, Bad({"filters": [DeleteAclsFilter(99, "x")]}, INVALID_REQUEST), each("filter_results"), NO_CLUSTER),
    Row("AlterUserScramCredentials", scram(4096), Bad(scram(1), 93), each("results"), NO_CLUSTER),
    Row("AlterUserScramCredentials", {"deletions": [ScramCredentialDeletion(MISER, 1)], "upsertions": []}, Bad({"deletions": [ScramCredentialDeletion("nobody", 1)], "upsertions": []}, 91), each("results"), NO_CLUSTER, what="deletion"),
    Row("AlterClientQuotas", quota("user", "producer_byte_rate"), Bad(quota("user", "odd"), INVALID_REQUEST), each("entries"), NO_CLUSTER, None, True),
    Row("AlterQuotas", quota_248(5, 0), Bad(quota_248(99, 0), INVALID_REQUEST), of_quotas, NO_CLUSTER, None, True),
    Row("AlterConfig", entity("topic", ORDERS, "retention.ms", "3"), Bad(entity("topic", ORDERS, "retention.ms", "x"), INVALID_CONFIG), each("entities"), NO_TOPIC, entity("topic", ORDERS, "retention.ms", REFUSED), what="topic"),
    Row("AlterConfig", entity("client", "c", "producer_byte_rate", "3"), Bad(entity("client", "c", "odd", "3"), INVALID_CONFIG), each("entities"), NO_CLUSTER, what="client"),
    Row("AlterConfig", entity("topic", ORDERS, "retention.ms", "4"), Bad(entity("planet", "p", "k", "3"), INVALID_REQUEST), each("entities"), NO_TOPIC, what="of no kind"),
]  # fmt: skip


def test_every_altering_api_is_tested() -> None:
    own = HANDLERS.keys() - DATA_PLANE.keys()  # a server without messages has nothing to alter there
    altering = {APIS[key].name for key in own if APIS[key].name.startswith(("Alter", "Create", "Delete"))}
    assert {row.api for row in ROWS} == altering | {"IncrementalAlterConfigs"}


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    users = " ".join(f'user_{each.name}="{each.password}"' for each in (ALICE, ROOT))
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ROOT.name}",
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        "alter.config.policy.class.name": f"{recorder.__file__}:Alter",
        "create.topic.policy.class.name": f"{recorder.__file__}:Growth",
    }
    with KconfProcess(properties=properties, listeners=("PLAINTEXT", "SASL_PLAINTEXT")) as made:
        with SyncAdminClient(made.address("PLAINTEXT")) as admin:
            admin.create_topics([DOOMED, GROWING, ORDERS]).raise_for_failures()
            stored = scram_upsertion(MISER, Mechanism.SCRAM_SHA_256, "s", iterations=4096)
            admin.alter_user_scram_credentials([stored]).raise_for_failures()
            admin.create_acls([AclBinding(AclType.TOPIC, "deleted", "User:x", Operation.READ)]).raise_for_failures()
        yield made


class Trace(NamedTuple):
    """The journal lines and attempts of a request."""

    codes: list[int]
    revisions: list[Revision]
    attempts: list[AuditEntry]


def done(server: KconfProcess, row: Row, fields: Fields, user: User, client: str, *, dry: bool = False) -> Trace:
    with SyncAdminClient(server.address("PLAINTEXT")) as admin:
        revision = admin.list_changes().revisions[-1].number
        attempt = max((one.number for one in admin.list_attempts()), default=0)
        with Line(server.address("SASL_PLAINTEXT"), client_id=client) as line:
            line.shake()
            assert line.token(f"\0{user.name}\0{user.password}".encode()).error_code == 0
            if row.dry:
                fields = {**fields, "validate_only": dry}
            answer = line.ask(row.api, BY_NAME[row.api].max, **fields)
        page = admin.list_changes(revision)
        return Trace(list(row.codes(answer)), list(page.revisions), admin.list_attempts(attempt))


def names(caller: Any) -> tuple[str, str, str, str]:
    return caller.principal, caller.client_id, caller.host, caller.api


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_completed_changes_are_in_the_journal(server: KconfProcess, row: Row) -> None:
    trace = done(server, row, row.good, ROOT, "doer")
    assert trace.codes == [0]
    who = (f"User:{ROOT.name}", "doer", HOST, row.api)
    if row.what == "logger":  # logger levels are not stored, so there is no revision
        assert [(names(one.caller), one.code, one.dry_run) for one in trace.attempts] == [(who, 0, False)]
        assert trace.revisions == []
    else:
        assert [names(one.caller) for one in trace.revisions] == [who]
        assert trace.attempts == []


def refused(server: KconfProcess, row: Row, fields: Fields, user: User, code: int, *, dry: bool = False) -> None:
    trace = done(server, row, fields, user, "tried", dry=dry)
    assert trace.codes == [code]
    who = (f"User:{user.name}", "tried", HOST, row.api)
    assert [(names(one.caller), one.code, one.dry_run) for one in trace.attempts] == [(who, code, dry)]
    assert trace.revisions == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_refusals_for_missing_rights_are_recorded_as_attempts(server: KconfProcess, row: Row) -> None:
    refused(server, row, row.good, ALICE, row.unauthorised)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_refusals_of_invalid_requests_are_recorded_as_attempts(server: KconfProcess, row: Row) -> None:
    refused(server, row, row.bad.fields, ROOT, row.bad.code)


@pytest.mark.parametrize("row", [row for row in ROWS if row.policy], ids=lambda row: row.name)
def test_refusals_by_a_policy_are_recorded_as_attempts(server: KconfProcess, row: Row) -> None:
    assert row.policy is not None
    refused(server, row, row.policy, ROOT, POLICY_VIOLATION)


@pytest.mark.parametrize("row", [row for row in ROWS if row.dry], ids=lambda row: row.name)
def test_a_dry_run_that_succeeds_is_recorded_as_an_attempt(server: KconfProcess, row: Row) -> None:
    good = create("audit.dry") if row.api == "CreateTopics" else row.good
    good = grow(GROWING, 4) if row.api == "CreatePartitions" else good
    refused(server, row, good, ROOT, 0, dry=True)


@pytest.mark.parametrize("row", [row for row in ROWS if row.dry], ids=lambda row: row.name)
def test_a_dry_run_that_is_refused_is_recorded_as_an_attempt(server: KconfProcess, row: Row) -> None:
    refused(server, row, row.good, ALICE, row.unauthorised, dry=True)
    refused(server, row, row.bad.fields, ROOT, row.bad.code, dry=True)


def test_a_reason_that_is_too_long_is_refused_and_recorded(server: KconfProcess) -> None:
    for api, fields in (
        ("IncrementalAlterConfigs", alter(TOPIC, ORDERS, "flush.ms", "9")),
        ("AlterQuotas", quota_248(5, 1)),
    ):
        row = next(row for row in ROWS if row.api == api)
        refused(server, row, {**fields, "reason": "x" * 5000}, ROOT, INVALID_REQUEST)
