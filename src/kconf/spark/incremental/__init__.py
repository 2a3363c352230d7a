"""What is new since the last run, and what it affects: a run computes only that again."""
