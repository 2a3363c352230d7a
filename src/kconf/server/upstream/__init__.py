"""The brokers behind a gateway: their advertised addresses, and connections and requests to them."""
