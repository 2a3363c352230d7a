"""The commands that `make run` executes, printed with their output.

You can run them too: the contexts are in .run/kconf.yaml. A second run continues with the state of the first.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from examples.servers import RUN, Servers
from kconf import Mechanism, Resource, SyncAdminClient, scram_upsertion

CONTEXTS = RUN / "kconf.yaml"
USERS = ("ana", "ben")
PASSWORD = "demo"  # for a server that listens on loopback only
MECHANISM = Mechanism.SCRAM_SHA_512
STEPS = (
    (
        "Create topics; the response has partitions, replicas and configs (KIP-525)",
        "python -m examples.plain {address}",
    ),
    (
        "An invalid change is refused, with the reason, and none of it is applied",
        "kconf set topic:orders segment.bytes=1 max.message.bytes=2MB -C ana",
    ),
    (
        "A dry run shows old and new values and risks, and changes nothing",
        "kconf set topic:orders retention.ms=1d --dry-run -C ana",
    ),
    (
        "Incremental changes, with a reason (KIP-339)",
        "kconf set topic:orders retention.ms=14d --reason 'the auditors look back two weeks' -C ana",
        "kconf append topic:payments cleanup.policy=compact --allow-risk data-loss,compaction --reason cleanup -C ben",
        "kconf describe topic:orders topic:payments",
    ),
    (
        "Set quotas, and show which one applies and which it overrides (KIP-248)",
        "kconf quota set --user-default producer_byte_rate=1MiB --yes -C ana",
        "kconf quota set --user ben producer_byte_rate=10MiB -C ana",
        "kconf quota explain --user ben --client-id reports producer_byte_rate",
    ),
    (
        "Show who changed what, when and why",
        "kconf history topic:orders topic:payments --last 6",
    ),
    (
        "Roll back",
        "kconf rollback topic:orders --to {revision} --yes --allow-data-loss --reason 'the audit is over' -C ben",
        "kconf describe topic:orders",
    ),
)


class DemoPrinter:
    """Runs commands and prints each one before its output."""

    def __init__(self) -> None:
        here = Path(sys.executable).parent
        self._environment = {**os.environ, "KCONF_CONFIG": str(CONTEXTS), "PATH": f"{here}:{os.environ['PATH']}"}
        self._environment.pop("KCONF_CONTEXT", None)

    def title(self, text: str) -> None:
        bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(f"\n\x1b[1m{text}\x1b[0m" if bold else f"\n{text}", flush=True)

    def run(self, line: str) -> int:
        print(f"$ {line}", flush=True)
        return subprocess.run(
            shlex.split(line), env=self._environment, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False
        ).returncode

    def quietly(self, line: str) -> str:
        return subprocess.run(
            shlex.split(line),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout


def run_commands(printer: DemoPrinter, servers: Servers) -> None:
    """Run everything; the rollback goes to the revision after the topics were created and before the changes."""
    _add_users(printer, servers)
    address, revision = servers.addresses[0], 0
    for title, *lines in STEPS:
        printer.title(title)
        for line in lines:
            printer.run(line.format(address=address, revision=revision))
        revision = revision or _revision(address)


def _add_users(printer: DemoPrinter, servers: Servers) -> None:
    """Create users with passwords and a context for each; existing users keep theirs."""
    address = servers.addresses[0]
    with SyncAdminClient(address) as admin:
        known = admin.describe_user_scram_credentials(None)
        upsertions = [scram_upsertion(user, MECHANISM, PASSWORD) for user in USERS if user not in known]
        if upsertions:
            admin.alter_user_scram_credentials(upsertions).raise_for_failures()
    secret = (RUN / "password").absolute()
    secret.write_text(PASSWORD)
    printer.quietly(f"kconf context add demo -b {address} --use --replace --lake {RUN / 'lake'}")
    login = f"--property security.protocol=SASL_PLAINTEXT --property sasl.mechanism={MECHANISM.word}"
    for user in USERS:
        who = f"--user {user} --password '${{file:{secret}}}'"
        printer.quietly(f"kconf context add {user} -b {servers.login} {login} {who} --replace")
    print(f"\n{' and '.join(USERS)} have passwords (SCRAM) and a context each, in {CONTEXTS}.", flush=True)


def _revision(address: str) -> int:
    with SyncAdminClient(address) as admin:
        return admin.describe_configs([Resource.topic("orders")]).revision or 0
