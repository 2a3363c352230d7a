"""Lists of resources: searched, filtered, sorted and paged on the server."""
