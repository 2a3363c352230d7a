"""`kconf follow`: archive every change of a KRaft cluster, from its metadata log."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kconf.cli.common.options.controllers import add_controllers, with_controllers
from kconf.cli.common.target import add_target, target
from kconf.cli.logs import configure
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.operations.metadata_log.follow import LogArchiver
    from kconf.operations.target import Target

EXAMPLES: Final = """\
examples:
  kconf follow -b kafka:9092 --controllers kafka:9093 --archive /var/lib/kconf/archive
  kconf context add prod -b kafka:9092 --controllers c1:9093,c2:9093,c3:9093 \\
      --controller-properties follower.properties --journal /var/lib/kconf/archive
  kconf follow -C prod --archive /var/lib/kconf/archive --metrics 127.0.0.1:9405
  kconf history -C prod topic:orders

Every change, whichever tool made it, is archived within --interval, for `kconf history`, `blame`, `diff`, `rollback`
and the pipeline. The command can be stopped and restarted at any time and resumes where it stopped. If the cluster
deleted records of the metadata log before kconf read them, kconf archives the combined changes and marks them as a gap.
Nothing is written to the cluster. The metadata log does not contain who made a change; changes that kconf recorded
itself keep their author and reason.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "follow",
        help="archive changes that any tool makes to a KRaft cluster",
        description="Follow the metadata log of a KRaft cluster and archive its changes, until interrupted.",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("--archive", metavar="DIR", type=Path, required=True, help="archive directory")
    add(
        "--interval",
        metavar="SECONDS",
        type=float,
        default=5.0,
        help="maximum delay before a change is archived (default: 5)",
    )
    add("--metrics", metavar="HOST:PORT", help="serve Prometheus /metrics and /health on this address")
    add(
        "--log-level",
        metavar="LEVEL",
        default="INFO",
        choices=("DEBUG", "INFO", "WARN", "ERROR"),
        help="minimum level of messages that are logged (default: INFO)",
    )
    add_target(parser)
    add_controllers(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    configure(options.log_level)
    if not 0 < options.interval <= 3600:
        raise ConfigurationError(f"--interval must be above 0 and at most 3600 seconds, not {options.interval:g}")
    asyncio.run(_follow(options))
    return 0


async def _follow(options: argparse.Namespace) -> None:
    from kconf.client.kraft.archive import LogArchive
    from kconf.operations.metadata_log.follow import LogArchiver

    stopped = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    cluster = with_controllers(target(options), options)
    cluster_id = await _cluster_id(cluster)
    async with AsyncExitStack() as stack:
        controllers = await stack.enter_async_context(cluster.open_controllers_async())
        archive = LogArchive(options.archive, cluster_id)
        checkpoint = archive.open()
        stack.callback(archive.close)
        follow = controllers.follow(checkpoint, cluster=cluster_id)
        stack.push_async_callback(follow.close)
        archiver = LogArchiver(follow, archive, cluster_id, options.interval)
        extra = await _serve_metrics(options, archiver, stack)
        print(
            f"following cluster={cluster_id} after={checkpoint.offset - 1} archive={archive.directory}{extra}",
            flush=True,
        )
        await archiver.run(stopped)


async def _cluster_id(cluster: Target) -> str:
    async with cluster.open_async() as admin:
        found = (await admin.describe_cluster()).cluster_id
    if not found:
        raise ConfigurationError(f"{cluster.name} does not report a cluster ID")
    return found


async def _serve_metrics(options: argparse.Namespace, archiver: LogArchiver, stack: AsyncExitStack) -> str:
    if options.metrics is None:
        return ""
    from prometheus_client import CollectorRegistry, generate_latest

    from kconf.cli.commands.serve import address
    from kconf.cli.common.follow_metrics import FollowCollector
    from kconf.util.http_endpoint import HttpEndpoint

    host, port = address(options.metrics)
    registry = CollectorRegistry()
    registry.register(FollowCollector(archiver))
    try:
        endpoint = await stack.enter_async_context(
            HttpEndpoint(host, port, lambda: generate_latest(registry), archiver.health)
        )
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {options.metrics}: {error.strerror}") from None
    return f" metrics=http://{host}:{endpoint.port}/metrics"
