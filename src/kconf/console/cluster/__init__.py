"""The cached state of clusters: read, followed and refreshed in the background, and served as immutable values."""
