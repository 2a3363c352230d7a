"""What the commands of the pipeline share."""
