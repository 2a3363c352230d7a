"""`kconf console`: run the web console until it gets a signal to stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kconf.cli.common.options.oidc import add_oidc, oidc_settings
from kconf.cli.logs import configure
from kconf.client.contexts.context import Context
from kconf.client.contexts.load import load_contexts
from kconf.errors import ConfigurationError
from kconf.operations.target import Target

if TYPE_CHECKING:
    from kconf.console.settings import ConsoleSettings

EXAMPLES: Final = """\
examples:
  kconf console                                              all contexts, on http://127.0.0.1:8080/
  kconf console -C 'prod-*' -C staging --listen 127.0.0.1:9000
  kconf console -b localhost:9092
  kconf console -C prod --declared clusters/prod              with the drift of prod from these files
  kconf console --login --listen 0.0.0.0:8443 --host-name kconf.example.com \\
      --tls-certificate console.pem --tls-key console.key
  kconf console -C prod --oidc-issuer https://idp.example.com --oidc-client-id kconf \\
      --oidc-client-secret-file client.secret --public-url https://kconf.example.com

Without logins, everybody who can reach the address uses the credentials of the contexts, so the console then listens
only on a loopback address. With --login, people log in with their own Kafka user (SASL), and Kafka's ACLs apply. With
--oidc-issuer, people log in with an OIDC provider. The console sends their access tokens to the clusters whose context
has sasl.mechanism=OAUTHBEARER. On a kconf server or gateway, they can change what their account is authorized to
change; all other clusters are read-only for them. --login and --oidc-issuer can be combined. Requires the extra
kconf[console], and kconf[oauth] for --oidc-issuer.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "console",
        help="serve a web console for any number of clusters",
        description="Serve a web console for the contexts: state, history and authors of every config.",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="address (default: %(default)s)")
    add(
        "-C",
        "--context",
        metavar="NAME|GLOB",
        action="append",
        default=[],
        help="context to serve; may be repeated (default: all)",
    )
    add("-b", "--bootstrap-server", metavar="HOST:PORT", help="any broker of one cluster, instead of contexts")
    add("--login", action="store_true", help="people log in with their own Kafka user")
    add("--tls-certificate", metavar="FILE", help="certificate chain (PEM)")
    add("--tls-key", metavar="FILE", help="private key of the certificate (PEM)")
    add(
        "--host-name",
        metavar="NAME",
        action="append",
        default=[],
        help="another host name that browsers use; may be repeated",
    )
    add(
        "--declared",
        metavar="[CONTEXT=]PATH",
        action="append",
        default=[],
        help="file or directory with declared configuration, for the Drift page; may be repeated",
    )
    add(
        "--interval",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="seconds between two reads of a cluster (default: 30)",
    )
    add_oidc(parser)
    add(
        "--log-level",
        metavar="LEVEL",
        default="INFO",
        choices=("DEBUG", "INFO", "WARN", "ERROR"),
        help="minimum level of messages that are logged (default: INFO)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    configure(options.log_level)
    settings = _settings(options)
    settings.check()
    if not settings.has_logins:
        print(
            "kconf: login is off: everybody who can reach this address uses the credentials of the contexts",
            file=sys.stderr,
        )
    asyncio.run(_serve(settings))
    return 0


def _settings(options: argparse.Namespace) -> ConsoleSettings:
    try:
        from kconf.console.settings import ConsoleSettings, parse_listen
    except ImportError as error:
        raise ConfigurationError(f"the console needs another package: pip install 'kconf[console]' ({error})") from None
    if not 1 <= options.interval <= 3600:
        raise ConfigurationError(f"--interval must be 1 to 3600 seconds, not {options.interval:g}")
    contexts = _contexts(options)
    return ConsoleSettings(
        parse_listen(options.listen),
        [Target(each) for each in contexts],
        login=options.login,
        oidc=oidc_settings(options),
        public_url=options.public_url,
        certificate=options.tls_certificate,
        key=options.tls_key,
        names=options.host_name,
        interval=options.interval,
        files=_declared(options.declared, [each.name for each in contexts]),
    )


def _declared(arguments: Sequence[str], contexts: Sequence[str]) -> dict[str, Sequence[str]]:
    """The declared files by context."""
    found: dict[str, list[str]] = {}
    for each in arguments:
        name, equals, path = each.partition("=")
        if not equals or name not in contexts:
            if len(contexts) != 1:
                raise ConfigurationError(f"--declared {each}: pass CONTEXT=PATH; contexts are {', '.join(contexts)}")
            name, path = contexts[0], each
        if not Path(path).exists():
            raise ConfigurationError(f"--declared {each}: {path} does not exist")
        found.setdefault(name, []).append(path)
    return dict(found)


def _contexts(options: argparse.Namespace) -> list[Context]:
    if options.bootstrap_server is not None:
        if options.context:
            raise ConfigurationError("-b and -C are mutually exclusive")
        return [Context(options.bootstrap_server, options.bootstrap_server)]
    contexts = load_contexts()
    if not options.context:
        return list(contexts.contexts.values())
    found = {each.name: each for pattern in options.context for each in contexts.matching(pattern)}
    return list(found.values())


async def _serve(settings: ConsoleSettings) -> None:
    try:
        from kconf.console.run import console_in_loop
    except ImportError as error:
        raise ConfigurationError(f"the console needs another package: pip install 'kconf[console]' ({error})") from None
    stopped = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    async with console_in_loop(settings) as console:
        print(f"kconf console ready: {console.url}", flush=True)
        await stopped.wait()
