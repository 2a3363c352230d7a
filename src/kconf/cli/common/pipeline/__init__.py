"""Code shared by the pipeline's commands."""
