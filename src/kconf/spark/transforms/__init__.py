"""How tables follow from each other: functions from DataFrames to a DataFrame.

They know nothing of sessions, paths or versions, so each can be tried on ten rows. All is said in Spark's own
expressions: no row ever passes through Python.
"""
