"""Configs that control authentication need more than ALTER_CONFIGS on the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from kconf.configdef.dynamic import AUTHENTICATION, is_authentication_key
from kconf.engine.access.acls import plan_create_acls
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation, Permission
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import RequestContext
from kconf.model.resource import Resource
from kconf.server.api.alter_configs import alter
from kconf.server.auth.authorizer import authorize_function
from kconf.server.context import ApiRequest
from kconf.server.server import Server, ServerOptions

ROOT, ALICE, BOB = "User:root", "User:alice", "User:bob"
STATIC = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": ROOT,
}
JAAS = "listener.name.outside.plain.sasl.jaas.config"
VALUE = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'
BROKER = Resource.broker(1)
ALTERS = AclBinding(AclType.CLUSTER, CLUSTER_NAME, ALICE, Operation.ALTER_CONFIGS, Permission.ALLOW)


async def change(
    server: Server, principal: str, *ops: AlterConfigOp, resource: Resource = BROKER, replace: bool = False
) -> ApiError | None:
    context = server.context
    authorize = authorize_function(context.authorizer, principal, "127.0.0.1")
    call = ApiRequest(1, RequestContext(principal), "localhost", 9092, authorize)
    wanted = [ResourceAlterations(resource, ops)]
    (outcome,) = await alter(context, wanted, call, replace=replace, validate_only=False)
    return outcome


async def grant(server: Server) -> None:
    service = server.context.service
    await service.submit(lambda state, _hooks: plan_create_acls(state.snapshot, [ALTERS]), RequestContext(ROOT))


def played(tmp_path: Path, scenario: object, more: Mapping[str, str] | None = None) -> None:
    async def run() -> None:
        given = ServerOptions(f"sqlite:///{tmp_path / 'kconf.db'}", port=0, static={**STATIC, **(more or {})})
        async with Server(given) as server:
            await grant(server)
            await scenario(server)  # type: ignore[operator]

    asyncio.run(run())


def set_to(key: str, value: str) -> AlterConfigOp:
    return AlterConfigOp(OpType.SET, key, value)


def code(outcome: ApiError | None) -> int:
    return 0 if outcome is None else outcome.code


def test_the_right_to_alter_the_cluster_is_not_enough(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        assert await change(server, ALICE, set_to("num.io.threads", "9")) is None
        refused = await change(server, ALICE, set_to(JAAS, VALUE))
        assert refused == ApiError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            "only super users may change listener.name.outside.plain.sasl.jaas.config",
        )
        for key in (
            "super.users",
            "ssl.client.auth",
            "listener.name.x.ssl.truststore.location",
            "plain.sasl.jaas.config",
        ):
            assert code(await change(server, ALICE, set_to(key, "none"))) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert await change(server, ROOT, set_to(JAAS, VALUE)) is None

    played(tmp_path, scenario)


def test_others_can_neither_remove_nor_guess_a_setting_of_a_super_user(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        assert await change(server, ROOT, set_to(JAAS, VALUE), set_to("ssl.client.auth", "required")) is None
        for op in (AlterConfigOp(OpType.DELETE, JAAS, None), set_to(JAAS, VALUE)):
            assert code(await change(server, ALICE, op)) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        dropped = await change(server, ALICE, set_to("num.io.threads", "9"), replace=True)
        assert code(dropped) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert await change(server, ALICE, set_to("ssl.client.auth", "required")) is None, "it changes nothing"
        assert server.context.service.state.snapshot.overrides(BROKER)[JAAS] == VALUE

    played(tmp_path, scenario)


def test_a_setting_allows_everyone_who_may_alter_the_cluster_as_in_kafka(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        assert await change(server, ALICE, set_to(JAAS, VALUE)) is None
        assert code(await change(server, BOB, set_to(JAAS, VALUE))) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    played(tmp_path, scenario, {"authentication.configs.super.users.only": "false"})


def test_without_an_authorizer_everyone_may_do_everything(tmp_path: Path) -> None:
    async def run() -> None:
        async with Server(ServerOptions(f"sqlite:///{tmp_path / 'kconf.db'}", port=0)) as server:
            assert await change(server, "User:ANONYMOUS", set_to(JAAS, VALUE)) is None

    asyncio.run(run())


@pytest.mark.parametrize(
    ("key", "value"), [("num.io.threads", "1"), ("num.io.threads", "x"), ("listeners", "PLAINTEXT://x:1"), (JAAS, "x")]
)
@pytest.mark.parametrize("resource", [BROKER, Resource.brokers()])
def test_a_caller_without_rights_learns_nothing_about_values(
    tmp_path: Path, key: str, value: str, resource: Resource
) -> None:
    """Kafka checks broker values first, and its errors contain the current ones."""

    async def scenario(server: Server) -> None:
        refused = await change(server, BOB, set_to(key, value), resource=resource)
        assert refused == ApiError(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "The principal is not authorized for this operation on the cluster."
        )

    played(tmp_path, scenario)


def test_authentication_keys_are_recognized_with_listener_and_mechanism_prefixes() -> None:
    for key in AUTHENTICATION:
        assert is_authentication_key(key)
        assert is_authentication_key(f"listener.name.x.{key}")
        assert is_authentication_key(f"listener.name.x.scram-sha-512.{key}")
        assert is_authentication_key(f"plain.{key}")
    assert is_authentication_key("listener.name.x.oauthbearer.sasl.oauthbearer.jwks.endpoint.url")
    assert is_authentication_key("listeners")
    for key in ("advertised.listeners", "num.io.threads", "listener.name.x.ssl.keystore.location", "ssl.protocol"):
        assert not is_authentication_key(key)
