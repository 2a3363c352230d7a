"""Decisions as pure functions of the state: no I/O, no clocks. Nothing here changes the state.

`configs/` resolves and alters configs, `topics/` creates and deletes, `access/` has ACLs and SCRAM, `quotas/` quotas,
`policy/` rules, `declarative/` compares files with a cluster. risks.py names the risks of a change.
"""
