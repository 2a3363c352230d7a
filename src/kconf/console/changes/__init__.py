"""Changes made in the console: a form becomes a dry run, and what the dry run showed is applied."""
