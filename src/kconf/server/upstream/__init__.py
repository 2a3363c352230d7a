"""The brokers behind a gateway: addresses that clients see, connections, and requests to them."""
