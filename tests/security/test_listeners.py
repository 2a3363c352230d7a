"""Listeners: several ports, each with its own address, and a warning for unencrypted ones."""

from __future__ import annotations

import socket

import pytest

from kconf import SyncAdminClient
from tests.support.process import HOST, KconfProcess, free_port

MAP = "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"


def test_each_listener_of_the_file_has_its_own_advertised_address() -> None:
    inside, outside, controller = (free_port() for _ in range(3))
    properties = {
        "listeners": f"INSIDE://{HOST}:{inside},OUTSIDE://127.0.0.2:{outside},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"OUTSIDE://localhost:{inside}",
        "listener.security.protocol.map": MAP,
        "controller.listener.names": "CONTROLLER",
    }
    with KconfProcess(properties=properties, from_file=True) as server:
        assert server.port == inside
        with SyncAdminClient(f"{HOST}:{inside}") as admin:
            (node,) = admin.describe_cluster().nodes.values()
            assert (node.host, node.port) == (HOST, inside)
        with SyncAdminClient(f"127.0.0.2:{outside}") as admin:
            (node,) = admin.describe_cluster().nodes.values()
            assert (node.host, node.port) == ("localhost", inside), "what OUTSIDE advertises"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, controller), timeout=2)


def test_the_log_warns_about_a_plaintext_listener_that_others_can_reach() -> None:
    """127.1 is also this machine, but kconf does not recognize it."""
    with KconfProcess(
        args=["--listen", "SSL2://127.1:0"], properties={"listener.security.protocol.map": "SSL2:PLAINTEXT"}
    ) as server:
        warnings = [line for line in server.log().splitlines() if "without encryption" in line]
        assert len(warnings) == 1
        assert "SSL2" in warnings[0]
        assert "level=WARN" in warnings[0]


def test_an_ipv6_loopback_listener_is_not_warned_about() -> None:
    with KconfProcess(
        args=["--listen", "SIX://[::1]:0"], properties={"listener.security.protocol.map": "SIX:PLAINTEXT"}
    ) as server:
        address = server.log().partition("SIX://")[2].split()[0]
        with SyncAdminClient(address) as admin:
            (node,) = admin.describe_cluster().nodes.values()
            assert node.host == "::1"
        assert "without encryption" not in server.log()


def test_a_port_in_use_is_named_in_the_error() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(RuntimeError, match=f"cannot listen on {HOST}:{port}"),
            KconfProcess(
                args=["--listen", f"SSL2://{HOST}:{port}"],
                properties={"listener.security.protocol.map": "SSL2:PLAINTEXT"},
            ),
        ):
            pass
