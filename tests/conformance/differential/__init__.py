"""The differential tests: send the same requests to a real Kafka and to kconf, and compare the responses by field.

ask (one request) -> scenarios/ (requests from a random seed) -> side (one server) -> compare (two responses) ->
accepted (allowed differences, with reasons) -> duel (runs all of it).
"""
