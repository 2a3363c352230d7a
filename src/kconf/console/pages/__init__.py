"""One module per family of pages. Each has `PAGES`: the paths and their views."""

from kconf.console.pages import change, clusters, login, resource, resources

MODULES = (login, clusters, change, resources, resource)
"""The modules in the order in which their paths are tried."""
