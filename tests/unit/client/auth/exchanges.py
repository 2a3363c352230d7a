"""Runs SASL exchanges without a broker."""

from __future__ import annotations

from kconf.client.auth.sasl import Sasl


def messages(sasl: Sasl, *responses: bytes) -> list[bytes]:
    """The messages of a client that gets these responses."""
    exchange = sasl.exchange("host")
    tokens = [next(exchange)]
    for each in responses:
        try:
            tokens.append(exchange.send(each))
        except StopIteration:
            break
    return tokens
