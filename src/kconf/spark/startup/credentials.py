"""Recognizes credentials in Spark settings, which every user of the machine can see in the list of processes.

Spark redacts values whose name or content matches REDACTED in its logs, its web UI and its event logs, also settings
that come from core-site.xml. Names of classes and files that find credentials are no credentials.
"""

from __future__ import annotations

import re
from typing import Final

_PROVIDER: Final = r"(?!s?[._-]?provider)"
REDACTED: Final = (
    rf"(?i)secret|passw(or)?d|passphrase|(token|credential){_PROVIDER}|signature"
    r"|(access|account|api|private|encryption|shared|storage)[._-]?key(?!provider)"
    rf"|[._-]sas([._-](?!token[._-]?provider)|$)"
)
"""A pattern for Python and Java."""
_NAME: Final = re.compile(REDACTED)
_VALUE: Final = re.compile(
    r"(?i)//[^@\s]*:[^@\s]+@"  # user:password@host
    r"|[?&;]sig="  # of a shared access signature of Azure
    r"|-----BEGIN "
    r"|\b(AKIA|ASIA)[0-9A-Z]{16}\b"  # the ID of an access key of AWS
)
_ASSIGNED: Final = re.compile(r"([\w.-]+)=")
_SWITCHES: Final = ("true", "false")


def has_credential(name: str, value: str) -> bool:
    """Whether a setting is a credential, or may contain one, such as `-Djavax.net.ssl.trustStorePassword=…`."""
    if value.lower() in _SWITCHES:
        return False
    names = (name, *_ASSIGNED.findall(value))
    return any(map(_NAME.search, names)) or _VALUE.search(value) is not None
