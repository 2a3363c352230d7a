"""One module per family of pages. Each has `PAGES`: the paths and their views."""

from kconf.console.pages import access, activity, change, clusters, login, quotas, resource, resources
from kconf.console.pages.review import compare, drift, policies, reports

MODULES = (login, clusters, change, activity, quotas, access, drift, compare, policies, reports, resources, resource)
"""The modules in the order in which their paths are tried."""
