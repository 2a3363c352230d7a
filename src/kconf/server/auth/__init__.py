"""Logins and rights. authenticator.py logs in the clients of a listener, authorizer.py checks their rights.

SASL: mechanisms.py has the exchanges, sasl_authenticator.py the wire format, sasl_config.py the settings. TLS: `tls_*`.
listener_security.py checks changes of these settings before they are committed.
"""
