"""The lines of a user for a gateway's file of SCRAM credentials."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.model.scram import Mechanism
from kconf.operations.access.scram import NewPassword, credential_lines
from kconf.security.scram import ScramClient, ScramServer, read_client_first
from kconf.security.scram_file import read_credentials


@pytest.mark.parametrize("mechanism", [Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512])
def test_a_user_can_log_in_with_the_password_from_which_the_lines_were_computed(mechanism: Mechanism) -> None:
    lines = credential_lines(NewPassword("alice", "hunter2"))
    assert [each.partition("=")[0] for each in lines] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert "hunter2" not in "".join(lines)
    stored = read_credentials("\n".join(lines), "users")["alice", mechanism]
    client = ScramClient(mechanism, "alice", "hunter2", "nonce")
    server = ScramServer(mechanism, read_client_first(client.first()), stored, "other")
    client.verify(server.final(client.final(server.first())))


def test_mechanism_and_iterations_can_be_chosen() -> None:
    (line,) = credential_lines(NewPassword("alice", "hunter2", [Mechanism.SCRAM_SHA_512], 8192))
    assert line.startswith("SCRAM-SHA-512=[name=alice,")
    assert line.endswith(",iterations=8192]")
    with pytest.raises(ConfigurationError, match="--iterations must be 4096 to 16384, not 0"):
        credential_lines(NewPassword("alice", "hunter2", iterations=0))
