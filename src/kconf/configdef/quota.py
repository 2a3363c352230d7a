"""The keys of quota entities, and of users' SCRAM credentials.

Quotas are doubles in the protocol, so validators get a double regardless of the key's type. Defaults mean "no quota".
"""

from __future__ import annotations

from typing import Final

from kconf.configdef.define import DOUBLE, INT, LONG, LONG_MAX, MOST, STRING, config_def
from kconf.configdef.key import ConfigDef, ConfigKey
from kconf.configdef.validators import CREDENTIAL, above_zero

_BYTES: Final = above_zero(highest=2**63 - 1)
_CONNECTIONS: Final = above_zero(highest=2**31 - 1)
_RATE: Final = above_zero()

# fmt: off
USER_QUOTA: ConfigDef = config_def(
    (
        ConfigKey(name="consumer_byte_rate", type=LONG, default=LONG_MAX, validator=_BYTES, about="Bytes per second a user may fetch from one broker."),
        ConfigKey(name="controller_mutation_rate", type=DOUBLE, default="2.147483647E9", validator=_RATE, about="Partition creations and deletions per second a user may request."),
        ConfigKey(name="producer_byte_rate", type=LONG, default=LONG_MAX, validator=_BYTES, about="Bytes per second a user may produce to one broker."),
        ConfigKey(name="request_percentage", type=DOUBLE, default="2.147483647E9", validator=_RATE, about="Share of one broker's request and network thread time a user may use, in percent."),
    )
)

CLIENT_QUOTA: ConfigDef = config_def(
    (
        ConfigKey(name="consumer_byte_rate", type=LONG, default=LONG_MAX, validator=_BYTES, about="Bytes per second a client ID may fetch from one broker."),
        ConfigKey(name="controller_mutation_rate", type=DOUBLE, default="2.147483647E9", validator=_RATE, about="Partition creations and deletions per second a client ID may request."),
        ConfigKey(name="producer_byte_rate", type=LONG, default=LONG_MAX, validator=_BYTES, about="Bytes per second a client ID may produce to one broker."),
        ConfigKey(name="request_percentage", type=DOUBLE, default="2.147483647E9", validator=_RATE, about="Share of one broker's request and network thread time a client ID may use, in percent."),
    )
)

IP_QUOTA: ConfigDef = config_def(
    [ConfigKey(name="connection_creation_rate", type=INT, default=MOST, validator=_CONNECTIONS, about="New connections per second that one IP address may open to a broker.")]
)

SCRAM: ConfigDef = config_def(
    (
        ConfigKey(name="SCRAM-SHA-256", type=STRING, default=None, validator=CREDENTIAL, about="A user's salted credential for SCRAM with SHA-256.", secret=True),
        ConfigKey(name="SCRAM-SHA-512", type=STRING, default=None, validator=CREDENTIAL, about="A user's salted credential for SCRAM with SHA-512.", secret=True),
    )
)
