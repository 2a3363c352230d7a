"""Who may use the console, and what a browser may do for them: sessions, logins, tokens, headers."""
