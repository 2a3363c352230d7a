"""Changes made in the console: a form starts a dry run, and the plan that it showed is applied."""
