"""Logins at an OIDC provider: authorization code flow with PKCE. `login.py` has the steps in their order.

Tokens are in the memory of the console only: never in a cookie, a page, or the log.
"""
