"""`python -m tests.docs` writes all pages, and parts of pages, that are generated from the code."""

from tests.docs import extensions, generated, protocol_table

for each in (protocol_table, extensions, generated):
    each.main()
