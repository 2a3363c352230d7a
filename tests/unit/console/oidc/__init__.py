"""Logins at an OIDC provider."""
