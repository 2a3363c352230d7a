"""OAUTHBEARER on the server side (KIP-255, KIP-768): bearer tokens of an OIDC provider instead of passwords."""

from typing import Final

OAUTHBEARER: Final = "OAUTHBEARER"
HANDLER: Final = "sasl.server.callback.handler.class"
