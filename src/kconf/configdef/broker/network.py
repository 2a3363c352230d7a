"""Broker keys of the network: listeners, sockets, connections and the threads and queues that serve them."""

from __future__ import annotations

from kconf.configdef.define import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    MOST,
    PER_BROKER,
    READ_ONLY,
    STRING,
    broker,
)
from kconf.configdef.key import ConfigKey
from kconf.configdef.validators import ANY_LIST, AT_LEAST_0, AT_LEAST_1, FILLED_LIST

# fmt: off
KEYS: tuple[ConfigKey, ...] = (
    broker("advertised.listeners", LIST, None, FILLED_LIST, HIGH, READ_ONLY, "Addresses that clients use to connect, each as NAME://host:port."),
    broker("connection.failed.authentication.delay.ms", INT, "100", AT_LEAST_0, LOW, READ_ONLY, "Pause before a connection that failed to authenticate is closed."),
    broker("connections.max.idle.ms", LONG, "600000", None, MEDIUM, READ_ONLY, "Idle time after which the server closes a connection."),
    broker("connections.max.reauth.ms", LONG, "0", None, MEDIUM, READ_ONLY, "Maximum lifetime of a SASL session before the client has to authenticate again; 0 turns this off."),
    broker("early.start.listeners", LIST, None, ANY_LIST, HIGH, READ_ONLY, "Listeners that open before the authorizer is ready; unset means those in controller.listener.names."),
    broker("inter.broker.listener.name", STRING, None, None, MEDIUM, READ_ONLY, "Listener that brokers use among themselves; not together with security.inter.broker.protocol."),
    broker("listener.security.protocol.map", STRING, "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", None, LOW, PER_BROKER, "Security protocol of each listener name."),
    broker("listeners", LIST, "PLAINTEXT://:9092", FILLED_LIST, HIGH, PER_BROKER, "Sockets to bind, each as NAME://host:port."),
    broker("max.connection.creation.rate", INT, MOST, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "How many new connections per second the broker, or one listener, accepts."),
    broker("max.connections", INT, MOST, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Maximum number of open connections of the broker, or of one listener."),
    broker("max.connections.per.ip", INT, MOST, AT_LEAST_0, MEDIUM, CLUSTER_WIDE, "Maximum number of open connections from one IP address."),
    broker("max.connections.per.ip.overrides", STRING, "", None, MEDIUM, CLUSTER_WIDE, "Exceptions to max.connections.per.ip, as address:count pairs."),
    broker("max.request.partition.size.limit", INT, "2000", AT_LEAST_1, MEDIUM, READ_ONLY, "Maximum number of partitions in a DescribeTopicPartitions response."),
    broker("num.io.threads", INT, "8", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Number of threads that execute requests."),
    broker("num.network.threads", INT, "3", AT_LEAST_1, HIGH, CLUSTER_WIDE, "Socket threads per listener that read requests and write responses."),
    broker("queued.max.request.bytes", LONG, "-1", None, MEDIUM, READ_ONLY, "Bytes of waiting requests beyond which the broker stops reading; 0 or less means no limit."),
    broker("queued.max.requests", INT, "500", AT_LEAST_1, HIGH, READ_ONLY, "Waiting requests beyond which the network threads stop reading."),
    broker("request.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, "How long a request to another node may take, without retries."),
    broker("socket.connection.setup.timeout.max.ms", LONG, "30000", None, MEDIUM, READ_ONLY, "Maximum connect timeout, which increases with each consecutive failure."),
    broker("socket.connection.setup.timeout.ms", LONG, "10000", None, MEDIUM, READ_ONLY, "How long a new outgoing connection may take to be established."),
    broker("socket.listen.backlog.size", INT, "50", AT_LEAST_1, MEDIUM, READ_ONLY, "Connections the operating system may queue before they are accepted."),
    broker("socket.receive.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, "Receive buffer of server sockets; -1 leaves it to the operating system."),
    broker("socket.request.max.bytes", INT, "104857600", AT_LEAST_1, HIGH, READ_ONLY, "Largest request that is read; a longer one closes its connection."),
    broker("socket.send.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, "Send buffer of server sockets; -1 leaves it to the operating system."),
)
