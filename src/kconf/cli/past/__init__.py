"""What was: `history`, `blame`, `rollback`, `watch`, and the times of `diff`."""
