"""Files of SCRAM credentials: what is written can be read, and errors contain no secret."""

from __future__ import annotations

import pytest

from kconf.errors import ConfigurationError
from kconf.model.scram import Credential, Mechanism
from kconf.security.scram import credential, salted_password
from kconf.security.scram_file import credential_line, read_credentials

SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512


def made(mechanism: Mechanism, iterations: int = 4096) -> Credential:
    return credential(mechanism, salted_password(mechanism, "secret", b"salt", 4096), b"salt", iterations)


@pytest.mark.parametrize("user", ["alice", "CN=alice,O=acme", "name=a,salt=b", "a]b", "Åsa", "a b"])
def test_the_line_of_any_name_can_be_read(user: str) -> None:
    lines = [credential_line(user, each, made(each)) for each in (SHA_256, SHA_512)]
    text = "# users\n\n" + "\r\n".join(lines) + "\n"
    assert read_credentials(text, "users") == {(user, each): made(each) for each in (SHA_256, SHA_512)}


@pytest.mark.parametrize("user", ["", "a\nb", "a\x1bb"])
def test_a_name_that_does_not_fit_in_a_line_is_refused(user: str) -> None:
    with pytest.raises(ConfigurationError, match="empty or has control characters"):
        credential_line(user, SHA_256, made(SHA_256))


GOOD = credential_line("alice", SHA_512, made(SHA_512))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "users has no SCRAM credentials"),
        ("# alice\n", "users has no SCRAM credentials"),
        ("alice:hunter2\n", r"users:1: a line must be SCRAM-SHA-512=\[name="),
        ("SCRAM-SHA-512=[name=alice,password=hunter2]\n", r"users:1: a line must be SCRAM-SHA-512=\[name="),
        (GOOD.replace("stored_key", "saltedpassword"), "users:1: a stored credential is invalid"),
        (GOOD.replace("SHA-512", "SHA-1"), "users:1: the mechanism must be SCRAM-SHA-256 or SCRAM-SHA-512"),
        (
            GOOD.replace("SHA-512", "SHA-256"),
            "users:1: the salt is empty, or a key has the wrong length for SCRAM-SHA-256",
        ),
        (GOOD.replace("=4096", "=4095"), "users:1: iterations must be 4096 to 16384, not 4095"),
        (GOOD.replace("salt=", "salt=!"), "users:1: a message contains invalid base64"),
        (f"{GOOD}\n{GOOD}", "users:2: the file already has a SCRAM-SHA-512 credential of 'alice'"),
    ],
)
def test_an_invalid_file_is_refused_with_the_line_and_without_its_content(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as refused:
        read_credentials(text, "users")
    assert "hunter2" not in str(refused.value)
    assert "stored_key=" not in str(refused.value).replace("stored_key=…", "")
