"""The web console: pages that use operations/ and lake/, for any number of contexts. `app.py` combines the parts.

How to add a page:

1. A *view* in a module of `pages/`: a plain function that takes a `PageRequest` and returns a `Page` (or a `Redirect`).
   A page has the name of a template and one value, a frozen dataclass with everything that the page shows. The value
   is rendered by the template or, for `Accept: application/json`, returned as JSON. So a template never looks
   anything up, and a script can read the same data at the same address.
2. Its row in the `PAGES` of the module: path, view, methods. A new module is added to `MODULES` in `pages/__init__.py`.
   A path below `/{context}/` gets `request.cluster`. A page about one resource takes it from the query
   (`/{context}/change?resource=topic:orders`): names may contain slashes. Paths without a context start with `/-/`.
3. A template in `templates/` that extends `base.html`. Every expression is escaped and its control characters are made
   visible, without a filter. No inline script, style or event handler: the Content-Security-Policy forbids them.
   Links and forms first; htmx attributes only save a reload.
4. A line in `NAVIGATION` of `pages/navigation.py`, if it is a section of a cluster.
5. Tests: the view in `tests/unit/console`, on a snapshot made by hand; the page in a browser in `tests/console`.

A view runs in a worker thread. It reads `request.cluster.snapshot`, which a monitor replaces in the background, so it
never waits for a cluster. A view that needs the cluster itself (for a dry run or a change) opens a client with
`request.cluster.target.open()`, which uses the credential of the person who is logged in. `request.form` has the
fields of a POST, whose CSRF token and Origin were checked before. `KconfError` raised by a view becomes an error page.

A page that follows changes subscribes with `request.cluster.monitor.subscribe()`, as `pages/events.py` does.
"""
