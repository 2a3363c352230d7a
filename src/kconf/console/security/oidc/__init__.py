"""Logins at an OIDC provider: authorization code flow with PKCE. `login.py` has the steps in order.

Tokens are only in the memory of the console, never in a cookie, a page, or the log.
"""
