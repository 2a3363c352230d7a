"""Transformations between tables: functions from DataFrames to a DataFrame.

They know nothing about sessions, paths or versions, so each can be tested on ten rows. Everything is written as Spark
expressions: no row passes through Python.
"""
