"""Quotas. precedence.py defines which one wins, index.py finds it quickly, alter.py plans changes.

filter.py selects entities, what_if.py compares effective quotas before and after, rates.py computes throttle times.
"""
