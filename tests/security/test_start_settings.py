"""A server must start with every change that AlterConfigs accepts: every broker key that a start reads, at every level.

The keys are not listed here: the test records which keys a start reads. Each is set to invalid values; either
AlterConfigs refuses the change, or a server starts with the changed store.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kconf.configdef.broker import BROKER
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import ApiError, ErrorCode
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.server.api.alter_configs import alter
from kconf.server.auth.tls_child import answer
from kconf.server.auth.tls_loader import TlsLoader
from kconf.server.context import ApiRequest
from kconf.server.listener_config import EndPoint, SecurityProtocol, SocketAddress
from kconf.server.server import Server, ServerOptions
from tests.security.sasl_server import PLAIN_MODULE
from tests.unit.client.certificates import Certificates

SEED = 19
ANYWHERE = SocketAddress("127.0.0.1", 0)
ENDPOINTS = (
    EndPoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, ANYWHERE),
    EndPoint("INSIDE", SecurityProtocol.SASL_SSL, ANYWHERE),
    EndPoint("SSL", SecurityProtocol.SSL, ANYWHERE),
)
BROKER_1, BROKERS = Resource.broker(1), Resource.brokers()
LEVELS = (BROKER_1, BROKERS)
JAAS = f'{PLAIN_MODULE} required user_alice="secret";'
WRONG = (
    "",
    " ",
    "abc",
    "-1",
    "0",
    "9" * 30,
    "9" * 5000,
    "true",
    "NOPE",
    "GSSAPI",
    "SCRAM-SHA-256,NOPE",
    "TLSv1",
    "required",
    "java.lang.String",
    "é\n=;",
    "a\0b",
    "RULE:(/x/",
    "RULE:a{99999999999}/$1/",
    f"{PLAIN_MODULE} required user_alice=",
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
    "/dev/zero",
    "localhost:" + "9" * 5000,
)


def settings(certificates: Certificates, store: Path) -> ServerOptions:
    static = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:SASL_SSL,SSL:SSL",
        "listeners": ",".join(map(str, ENDPOINTS)),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "plain.sasl.jaas.config": JAAS,
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
    }
    return ServerOptions(f"sqlite:///{store}", static=static, listeners=ENDPOINTS)


@contextmanager
def names_read() -> Iterator[set[str]]:
    """The broker keys that are read while the block runs, without listener prefixes."""
    found: set[str] = set()
    setting, number, value = EndPoint.setting, ConfigResolver.number, ConfigResolver.value

    def noted_setting(self: EndPoint, effective: Mapping[str, str], key: str) -> str | None:
        found.add(key)
        return setting(self, effective, key)

    def noted_number(self: ConfigResolver, name: str) -> int:
        found.add(name)
        return number(self, name)

    def noted_value(self: ConfigResolver, name: str) -> str | None:
        found.add(name)
        return value(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EndPoint, "setting", noted_setting)
        patch.setattr(ConfigResolver, "number", noted_number)
        patch.setattr(ConfigResolver, "value", noted_value)
        yield found


def forms(name: str) -> Iterator[str]:
    yield name
    for endpoint in ENDPOINTS[1:]:
        yield endpoint.prefixed(name)


@asynccontextmanager
async def started(given: ServerOptions) -> AsyncIterator[Server]:
    """A started server that has accepted a connection on each listener, because limits are read then."""
    async with Server(given) as server:
        for listener in server.listeners:
            _, writer = await asyncio.open_connection(*listener.address)
            while not len(server.registry) and listener.endpoint.is_clear:
                await asyncio.sleep(0)
            writer.close()
        yield server


async def change(server: Server, resource: Resource, *ops: AlterConfigOp, replace: bool = False) -> ApiError | None:
    call = ApiRequest(1, RequestContext(), "localhost", 9092)
    requested = [ResourceAlterations(resource, ops)]
    (outcome,) = await alter(server.context, requested, call, replace=replace, validate_only=False)
    return outcome


def set_to(key: str, value: str) -> AlterConfigOp:
    return AlterConfigOp(OpType.SET, key, value)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read stores in this process: the same code, without a new process for each of hundreds of changes."""

    async def ask(self: TlsLoader, listener: str, given: dict[str, str]) -> dict[str, Any]:
        files = self.files
        return answer(
            {"listener": listener, "given": given, "directories": files.directories, "paths": sorted(files.paths)}
        )

    monkeypatch.setattr(TlsLoader, "_ask", ask)


@pytest.mark.usefixtures("in_process")
@pytest.mark.timeout(300)
def test_accepted_settings_let_the_server_start(certificates: Certificates, tmp_path: Path) -> None:
    given = settings(certificates, tmp_path / "kconf.db")
    dice = random.Random(SEED)
    outcomes: Counter[str] = Counter()

    async def accepted(key: str, resource: Resource, values: Sequence[str]) -> str | None:
        """The first value that is accepted."""
        async with started(given) as server:
            for value in values:
                failure = await change(server, resource, set_to(key, value))
                if failure is None:
                    return value
                assert failure.code == ErrorCode.INVALID_REQUEST, (key, value[:100], failure)
                outcomes["refused"] += 1
        return None

    async def all_tried() -> None:
        with names_read() as read:
            async with started(given):
                pass
        assert {"plain.sasl.jaas.config", "ssl.principal.mapping.rules", "max.connections"} <= read
        names = sorted(read | {name for name in BROKER if name.startswith("ssl.")})
        for key, resource in itertools.product(itertools.chain.from_iterable(map(forms, names)), LEVELS):
            if await accepted(key, resource, dice.sample(WRONG, 4)) is not None:
                outcomes["accepted"] += 1
                async with started(given) as server:
                    assert await change(server, resource, AlterConfigOp(OpType.DELETE, key, None)) is None

    asyncio.run(all_tried())
    assert outcomes["refused"] > 100
    assert outcomes["accepted"] > 20


ATTACKS = [
    ("listener.name.inside.plain.sasl.jaas.config", "nonsense"),
    ("plain.sasl.jaas.config", "nonsense"),
    ("listener.name.ssl.ssl.principal.mapping.rules", "RULE:(/x/"),
    ("listener.name.inside.connections.max.reauth.ms", "abc"),
    ("listener.name.inside.scram-sha-512.connections.max.reauth.ms", "abc"),
    ("listener.name.inside.sasl.enabled.mechanisms", "GSSAPI"),
    ("sasl.enabled.mechanisms", "NOPE"),
    ("listener.name.inside.plain.sasl.server.callback.handler.class", "java.lang.String"),
    ("listener.name.inside.sasl.server.max.receive.size", "x"),
    ("listener.name.ssl.ssl.cipher.suites", "NOPE"),
    ("ssl.cipher.suites", "NOPE"),
    ("ssl.cipher.suites", "ALL:@SECLEVEL=0"),
    ("ssl.enabled.protocols", "TLSv1"),
    ("listener.name.ssl.ssl.keystore.type", "PEM\0"),
    ("listener.name.ssl.ssl.engine.factory.class", "java.lang.String"),
    ("max.connections.per.ip.overrides", "localhost:" + "9" * 5000),
]


@pytest.mark.usefixtures("in_process")
def test_a_setting_that_would_stop_the_next_start_is_refused(certificates: Certificates, tmp_path: Path) -> None:
    given = settings(certificates, tmp_path / "kconf.db")

    async def tried() -> list[tuple[str, ApiError | None]]:
        async with started(given) as server:
            return [(key, await change(server, BROKER_1, set_to(key, value))) for key, value in ATTACKS]

    for (key, failure), (_, value) in zip(asyncio.run(tried()), ATTACKS, strict=True):
        if value == "PEM\0":
            assert failure is None, "the type of a store is seen by its content"
            continue
        assert failure is not None, key
        assert failure.code == ErrorCode.INVALID_REQUEST, (key, failure)
        assert "secret" not in (failure.message or "")


@pytest.mark.usefixtures("in_process")
def test_a_value_that_other_servers_need_cannot_be_removed(certificates: Certificates, tmp_path: Path) -> None:
    """A start may need a value that only the store has: it can be changed, but no request can remove it."""
    given = settings(certificates, tmp_path / "kconf.db")
    own = {key: value for key, value in given.static.items() if key != "plain.sasl.jaas.config"}
    without = ServerOptions(given.store, static=own, listeners=given.listeners)
    key = "listener.name.inside.plain.sasl.jaas.config"

    async def tried() -> None:
        async with started(given) as server:
            assert await change(server, BROKER_1, set_to(key, JAAS)) is None
        async with started(without) as server:
            for replace, op in ((False, AlterConfigOp(OpType.DELETE, key, None)), (True, set_to("x", "y"))):
                failure = await change(server, BROKER_1, op, replace=replace)
                assert failure is not None
                assert "PLAIN needs" in (failure.message or "")
            assert await change(server, BROKER_1, set_to(key, JAAS.replace("alice", "bob"))) is None
        async with started(without):
            pass

    asyncio.run(tried())


@pytest.mark.usefixtures("in_process")
def test_two_changes_of_one_request_are_checked_together(certificates: Certificates, tmp_path: Path) -> None:
    """Either one can be removed, but not both: PLAIN needs its users."""
    given = settings(certificates, tmp_path / "kconf.db")
    own = {key: value for key, value in given.static.items() if key != "plain.sasl.jaas.config"}
    without = ServerOptions(given.store, static=own, listeners=given.listeners)
    bare, prefixed = "plain.sasl.jaas.config", "listener.name.inside.plain.sasl.jaas.config"

    async def tried() -> None:
        async with Server(given) as server:
            assert await change(server, BROKERS, set_to(bare, JAAS)) is None
            assert await change(server, BROKER_1, set_to(prefixed, JAAS)) is None
        async with Server(without) as server:
            both = [
                ResourceAlterations(BROKERS, [AlterConfigOp(OpType.DELETE, bare, None)]),
                ResourceAlterations(BROKER_1, [AlterConfigOp(OpType.DELETE, prefixed, None)]),
            ]
            call = ApiRequest(1, RequestContext(), "localhost", 9092)
            first, second = await alter(server.context, both, call, replace=False, validate_only=False)
            assert first is None
            assert second is not None
            assert "PLAIN needs" in (second.message or "")
        async with Server(without):
            pass

    asyncio.run(tried())


def test_unreadable_paths_are_refused_and_those_outside_get_the_same_message(
    certificates: Certificates, tmp_path: Path
) -> None:
    """They are read by another process, as in a running server."""
    given = settings(certificates, tmp_path / "kconf.db")
    fifo, secret, link = (certificates.directory / each for each in ("fifo", "secret", "link"))
    if not fifo.exists():
        os.mkfifo(fifo)
        link.symlink_to("/etc/passwd")
    secret = tmp_path / "secret.pem"
    secret.write_text("secret")
    key = "listener.name.ssl.ssl.keystore.location"
    outside = "/dev/zero", "/etc/passwd", "/nowhere/at/all", str(secret), str(tmp_path / "missing"), str(link)
    detour = f"{certificates.directory}/../{tmp_path.name}/secret.pem"

    async def messages() -> dict[str, str | None]:
        found = {}
        async with started(given) as server:
            for path in (str(fifo), *outside, detour):
                failure = await change(server, BROKER_1, set_to(key, path))
                assert failure is not None
                assert failure.code == ErrorCode.INVALID_REQUEST
                found[path] = failure.message
        return found

    found = asyncio.run(messages())
    assert found[str(fifo)] == f"listener SSL: {fifo} cannot be read: not a regular file"
    for path in (*outside, detour):
        assert found[path] == f"listener SSL: {path} is not below a directory that dynamic.files.directories allows"


def test_certificates_that_another_tool_changed_are_read_in_the_background(
    certificates: Certificates, tmp_path: Path
) -> None:
    """Other tools can write to ZooKeeper, without kconf's checks."""
    given = settings(certificates, tmp_path / "kconf.db")
    key = "listener.name.ssl.ssl.keystore.location"
    good, bad = str(certificates.directory / "other.pem"), str(certificates.directory / "missing.pem")
    Path(good).write_text(certificates.store("broker").read_text())

    async def committed(server: Server, value: str) -> None:
        service = server.context.service
        before = service.state.snapshot.overrides(BROKER_1).get(key)
        outside = Change(ChangeKind.CONFIG, BROKER_1, key, before, value, "set")
        await service.submit(lambda _state, _hooks: Plan(None, [outside]), RequestContext())
        await asyncio.gather(*(each for each in asyncio.all_tasks() if each.get_name() == "certificates"))

    async def tried() -> None:
        async with Server(given) as server:
            (tls,) = (each for each in server.context.security.tls if each.endpoint.name == "SSL")
            first = tls.context
            await committed(server, bad)
            assert tls.context is first, "what cannot be read is not used"
            await committed(server, good)
            assert tls.context is not first

    asyncio.run(tried())
