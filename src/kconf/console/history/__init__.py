"""The past of one resource: who changed what, values at a time, differences, timelines."""
