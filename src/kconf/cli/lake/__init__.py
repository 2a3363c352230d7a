"""`kconf lake`: what the pipeline's tables tell, without Spark."""
