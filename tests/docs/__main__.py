"""`python -m tests.docs` writes every page, and part of one, that is made from the code."""

from tests.docs import extensions, generated, protocol_table

for each in (protocol_table, extensions, generated):
    each.main()
