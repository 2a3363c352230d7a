"""The commands for people: one way to name a cluster, name resources, print an answer and change something safely.

`target` says which cluster, `selectors` which resources, `answers` how it is told, `changing` how anything is changed.
A verb is a module on top of these; none of them is loaded by a command that does not need it.
"""
