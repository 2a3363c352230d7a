"""The differential lab: the same requests to a real Kafka and to kconf, and their decoded answers field by field.

ask (what is said) -> scenarios/ (who says it, drawn from a seed) -> side (to whom) -> compare (what came back)
-> accepted (what may differ, and why) -> duel (all of it together).
"""
