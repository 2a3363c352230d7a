"""Decides which values must not be shown in errors, dry runs, plans or repeated command lines.

Most are recognized by the name of the key, without loading the catalog. Unknown broker keys are sensitive, as in Kafka.
"""

from __future__ import annotations

import re
from typing import Final

from kconf.model.resource import ResourceType

HIDDEN: Final = "[hidden]"
_SENSITIVE: Final = (
    r"(?i)SCRAM-.*|"
    r".*(?:password|passwd|passphrase|secret|credential|token|jaas|keystore\.key|api\.?key|private).*"
)


def looks_sensitive(name: str) -> bool:
    """Whether the name of a key suggests a secret."""
    return re.fullmatch(_SENSITIVE, name) is not None


def is_sensitive_key(kind: ResourceType | None, name: str) -> bool:
    """Whether the value of a key must be hidden. `kind` is None if the resource type is unknown."""
    if looks_sensitive(name):
        return True
    if kind is not ResourceType.BROKER:
        return False
    from kconf.configdef.broker import BROKER
    from kconf.configdef.dynamic import base_name
    from kconf.configdef.learned import learned_key

    known = BROKER.get(base_name(name)) or learned_key(kind, name)
    return known is None or known.sensitive
