"""`kconf serve`: run a server until it gets a signal to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import resource
import signal
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from kconf.cli.common.options.controllers import add_controllers, with_controllers
from kconf.cli.common.options.oidc import add_oidc
from kconf.cli.logs import configure
from kconf.configdef.server_settings import SERVER_SETTINGS
from kconf.errors import ConfigurationError
from kconf.version import __version__

if TYPE_CHECKING:
    from kconf.server.server import Server, ServerOptions, UpstreamSettings

_EXAMPLES = """\
examples:
  kconf serve                                        on 127.0.0.1:9092, in ./kconf.db
  kconf serve --listen 127.0.0.1:0                   on a free port, which is printed
  kconf serve --listen SASL_SSL://0.0.0.0:9093 --config server.properties
  kconf serve --config server.properties --store sqlite:////var/lib/kconf/kconf.db
  kconf serve --override log.retention.hours=24 --metrics 127.0.0.1:9404
  kconf serve --console 127.0.0.1:8080               with the web console
  kconf serve --config server.properties --recover   without dynamic broker configs; lists them
  kconf serve --upstream kafka:9092 --controllers kafka:9093 --listen :9192 --store sqlite:///gateway.db
  kconf serve --upstream msk --override gateway.poll.interval.ms=5000   without controllers: polls a broker

Any Kafka client can administer the server: pass --bootstrap-server 127.0.0.1:9092 to kafka-configs.sh. SIGTERM or
Ctrl-C stops the server after it has answered the requests that it has read. Acknowledged changes are on disk.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "serve",
        help="run a server that Kafka clients can administer",
        description="Run a server for Kafka's configuration APIs.",
        epilog=_EXAMPLES,
    )
    add = command.add_argument
    log_level = SERVER_SETTINGS["--log-level"].key
    add(
        "--listen",
        metavar="[NAME://]HOST:PORT",
        action="append",
        default=[],
        help=(
            "address to listen on, in plaintext unless prefixed with SSL://, SASL_SSL://, SASL_PLAINTEXT:// or a "
            "listener name of listener.security.protocol.map; port 0 picks a free port; may be repeated (default: "
            "listeners of --config, else 127.0.0.1:9092)"
        ),
    )
    add(
        "--store",
        metavar="URL",
        default=SERVER_SETTINGS["--store"].key.default,
        help="store for state and journal (default: %(default)s)",
    )
    add(
        "--feature",
        metavar="NAME=LEVEL",
        action="append",
        default=[],
        help="level of a Kafka feature for a new store: with eligible.leader.replicas.version=1 the cluster default of "
        "min.insync.replicas is always set and brokers cannot override it, as in a new Kafka 4.3 cluster; 0 turns this "
        "off (default: 1)",
    )
    add(
        "--upstream",
        metavar="CONTEXT|HOST:PORT",
        help=(
            "act as a gateway to this Kafka cluster: serve its state and forward changes to it; --store contains "
            "only the journal. With --controllers, the gateway follows the metadata log; without, it polls a broker "
            "(gateway.poll.interval.ms)"
        ),
    )
    add(
        "--upstream-properties",
        metavar="FILE",
        help="properties file of a Java admin client for --upstream (TLS, SASL)",
    )
    add_controllers(command)
    add("--node-id", metavar="N", type=int, help="ID of this broker (default: node.id of --config, else 1)")
    add("--config", metavar="FILE", type=Path, help="server.properties in Kafka's format (static configs)")
    add(
        "--override",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a value of --config; may be repeated",
    )
    add(
        "--archive",
        metavar="DIR",
        help="also write the journal to this directory, for `kconf pipeline` and other tools (default: "
        "archive.directory of --config, else nowhere)",
    )
    add(
        "--read-only",
        action="store_true",
        help="serve reads only; on the ZooKeeper of a Kafka cluster, no znode is written",
    )
    add(
        "--recover",
        action="store_true",
        help=(
            "ignore the dynamic broker configs in the store, and list them; for a server that does not start or "
            "accepts no logins because of them. Remove them with `kconf unset` or `kconf store unset`"
        ),
    )
    add("--metrics", metavar="HOST:PORT", help="serve Prometheus /metrics and /health on this address")
    add(
        "--console",
        metavar="HOST:PORT",
        help=(
            "serve the web console for this server on this address, which must be a loopback address; with SASL, "
            "people log in with their own user, or at an OIDC provider (requires kconf[console])"
        ),
    )
    add(
        "--log-level",
        metavar="LEVEL",
        default=log_level.default,
        choices=log_level.validator.choices if log_level.validator else None,
        help="DEBUG, INFO, WARN or ERROR (default: %(default)s)",
    )
    add_oidc(command, option="--console")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    configure(options.log_level)
    _take_all_files()
    try:
        import uvloop
    except ImportError:  # if uvloop is not installed, asyncio's own loop is used
        asyncio.run(_serve(options))
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(options))
    return 0


def _take_all_files() -> None:
    """Raise the limit of open files to the maximum: the default is often 1,024, and every connection needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems report "no limit" and then refuse it
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))


async def _serve(options: argparse.Namespace) -> None:
    from kconf.util.memory import permanent, settle

    with permanent():
        from kconf.server.api.router import import_deferred
        from kconf.server.server import Server
    server_options = _server_options(options)
    stopped = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    async with AsyncExitStack() as stack:
        server = Server(server_options)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, server.flush_archive)
        if not await _opened(stack.enter_async_context(server), stopped):
            print("kconf stopped", flush=True)
            return
        _print_ignored(server)
        http = await _open_http(options, server, stack)
        settle()
        print(_ready_line(server, http), flush=True)
        Thread(target=import_deferred, name="kconf-imports", daemon=True).start()
        await _stopped(stopped, server)
        logging.getLogger("kconf").info("stopping")
    print("kconf stopped", flush=True)


def _server_options(options: argparse.Namespace) -> ServerOptions:
    """Check the options, and read the files that they name."""
    from kconf.server.features import read_features
    from kconf.server.listener_config import read_listeners
    from kconf.server.server import ServerOptions
    from kconf.server.static_config import load_static, node_id

    if options.oidc_issuer is not None and options.console is None:
        raise ConfigurationError("--oidc-issuer needs --console")
    archive = [] if options.archive is None else [f"archive.directory={options.archive}"]
    static = load_static(options.config, [*options.override, *archive], node_id=options.node_id)
    listeners = read_listeners(options.listen, static)
    _check_gateway_options(options)
    upstream = None if options.upstream is None else _upstream(options)
    if upstream is not None and upstream.controllers is None and "archive.directory" in static:
        raise ConfigurationError(
            "--archive (archive.directory) of a gateway needs --controllers: without the metadata log, changes have no"
            " offsets, so several archives of a cluster cannot be merged"
        )
    return ServerOptions(
        options.store,
        node_id=node_id(static),
        static=static,
        listeners=listeners,
        features=read_features(options.feature),
        read_only=options.read_only,
        recover=options.recover,
        upstream=upstream,
    )


async def _open_http(options: argparse.Namespace, server: Server, stack: AsyncExitStack) -> str:
    """Open the metrics port and the console, if the options ask for them. Returns their addresses."""
    opened = ""
    if options.metrics:
        from kconf.server.metrics import MetricsServer

        host, port = address(options.metrics)
        metrics = await stack.enter_async_context(
            MetricsServer(server.context, server.registry, server.archiver, host, port)
        )
        opened = f" metrics=http://{host}:{metrics.port}/metrics"
    if options.console:
        from kconf.cli.common.own_console import own_console

        running = await stack.enter_async_context(own_console(options, server))
        opened = f"{opened} console={running.url}"
    return opened


def _ready_line(server: Server, http: str) -> str:
    context, polled, listeners = server.context, "", ""
    if (polling := context.service.store.polling) is not None:
        polled = f" polling=broker {polling.broker} every {polling.interval:g} s"
    if [each.endpoint.name for each in server.listeners] != ["PLAINTEXT"]:
        names = ",".join(f"{each.endpoint.name}://{each.address}" for each in server.listeners)
        listeners = f" listeners={names}"
    return (
        f"kconf {__version__} ready: listening on {server.listeners[0].address} store={server.options.store} "
        f"node={context.node_id} cluster={context.cluster_id}{polled}{listeners}{http}"
    )


def _check_gateway_options(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect. Without --upstream, the server would not be a gateway."""
    names = ("controllers", "controller_properties", "upstream_properties")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is not None]
    if options.upstream is None and given:
        raise ConfigurationError(f"{given[0]} is for gateways: also pass --upstream with the cluster's brokers")
    if options.upstream is not None and (options.recover or options.read_only):
        raise ConfigurationError(
            "--upstream cannot be combined with --recover or --read-only: a gateway has the state of its cluster"
        )


def _upstream(options: argparse.Namespace) -> UpstreamSettings:
    """The cluster behind a gateway: a context, or an address."""
    from kconf.client.contexts.context import Context
    from kconf.client.contexts.load import load_contexts
    from kconf.operations.target import Target
    from kconf.server.server import UpstreamSettings

    name = options.upstream
    contexts = load_contexts()
    is_address = ":" in name and name not in contexts.contexts
    try:
        context = Context("", name) if is_address else contexts.named(name)
    except ConfigurationError as error:
        raise ConfigurationError(f"--upstream takes a context or HOST:PORT: {error}") from None
    target = with_controllers(Target(context, options.upstream_properties), options)
    if not target.has_controllers:
        with target.open() as brokers:
            return UpstreamSettings(brokers.settings, None)
    with target.open() as brokers, target.open_controllers() as controllers:
        return UpstreamSettings(brokers.settings, controllers.settings)


async def _stopped(stopped: asyncio.Event, server: Server) -> None:
    """Wait for a signal to stop. Raises ConfigurationError if the server cannot continue."""
    signalled: asyncio.Future[Any] = asyncio.ensure_future(stopped.wait())
    await asyncio.wait({signalled, server.failure}, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if server.failure.done():
        server.failure.result()


async def _opened(opening: Coroutine[None, None, object], stopped: asyncio.Event) -> bool:
    """Whether the server has started before a signal to stop arrived."""
    task, signalled = asyncio.ensure_future(opening), asyncio.ensure_future(stopped.wait())
    await asyncio.wait({task, signalled}, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if not task.done():
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return False
    task.result()
    return True


def _print_ignored(server: Server) -> None:
    from kconf.configdef.sensitive import HIDDEN

    for each in server.ignored:
        print(f"ignored: {each.resource} {each.key}={HIDDEN if each.sensitive else each.after}")


def address(text: str) -> tuple[str, int]:
    """host:port, [v6]:port or :port (loopback)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"{text!r} is not an address; use HOST:PORT")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)
