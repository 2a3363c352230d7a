"""OAUTHBEARER on the server side (KIP-255, KIP-768): bearer tokens of an OIDC provider instead of passwords."""
