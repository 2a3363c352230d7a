"""Files of SCRAM credentials: one line per credential, in the notation of Kafka's tools, with the stored keys.

    SCRAM-SHA-512=[name=alice,salt=…,stored_key=…,server_key=…,iterations=4096]

It contains no passwords, and nothing with which a client could log in: `saltedpassword` is not accepted.
"""

from __future__ import annotations

import re
from typing import Final

from kconf.errors import ConfigurationError
from kconf.model.scram import Credential, Mechanism
from kconf.security.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramError, from_text, to_text

_LINE: Final = re.compile(r"(?P<mechanism>[A-Z0-9-]+)=\[name=(?P<user>.+),(?P<stored>[^,]*,[^,]*,[^,]*,[^,]*)\]")
_MECHANISMS: Final = {each.word: each for each in Mechanism if each is not Mechanism.UNKNOWN}
_KEY_SIZES: Final = {Mechanism.SCRAM_SHA_256: 32, Mechanism.SCRAM_SHA_512: 64}
_SHAPE: Final = "SCRAM-SHA-512=[name=…,salt=…,stored_key=…,server_key=…,iterations=…]"


def credential_line(user: str, mechanism: Mechanism, stored: Credential) -> str:
    """The line of a credential. Raises ConfigurationError for a name that does not fit in a line."""
    if not user or not user.isprintable():
        raise ConfigurationError(f"the user name {user!r} is empty or has control characters")
    return f"{mechanism.word}=[name={user},{to_text(stored)}]"


def read_credentials(text: str, path: str) -> dict[tuple[str, Mechanism], Credential]:
    """The credentials of a file. Raises ConfigurationError, without any part of a line.

    A file without credentials is refused: it may be truncated.
    """
    found: dict[tuple[str, Mechanism], Credential] = {}
    for number, line in enumerate(text.split("\n"), 1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        try:
            name, stored = _read_line(written)
        except (ScramError, ConfigurationError) as error:
            raise ConfigurationError(f"{path}:{number}: {error}") from None
        if name in found:
            raise ConfigurationError(
                f"{path}:{number}: the file already has a {name[1].word} credential of {name[0]!r}"
            )
        found[name] = stored
    if not found:
        raise ConfigurationError(f"{path} has no SCRAM credentials; add the lines that `kconf scram credential` prints")
    return found


def _read_line(line: str) -> tuple[tuple[str, Mechanism], Credential]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ConfigurationError(f"a line must be {_SHAPE}, as printed by `kconf scram credential`")
    mechanism = _MECHANISMS.get(match["mechanism"])
    if mechanism is None:
        raise ConfigurationError(f"the mechanism must be {' or '.join(_MECHANISMS)}")
    stored = from_text(match["stored"])
    if not MIN_ITERATIONS <= stored.iterations <= MAX_ITERATIONS:
        raise ConfigurationError(f"iterations must be {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {stored.iterations}")
    if not stored.salt or {len(stored.stored_key), len(stored.server_key)} != {_KEY_SIZES[mechanism]}:
        raise ConfigurationError(f"the salt is empty, or a key has the wrong length for {mechanism.word}")
    return (match["user"], mechanism), stored
