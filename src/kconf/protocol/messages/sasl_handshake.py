"""SaslHandshake (key 17), versions 0 and 1, not flexible: the client selects its mechanism.

After v0, tokens are sent without a header, preceded by their length. After v1, they are sent in SaslAuthenticate
(KIP-152).
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, STRING, Array, f, struct


@struct
class SaslHandshakeRequest:
    mechanism: str = f(STRING)


@struct
class SaslHandshakeResponse:
    error_code: int = f(I16)
    mechanisms: Sequence[str] = f(Array(STRING))
