"""Access to the console: sessions, logins, tokens, headers."""
