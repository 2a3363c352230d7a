"""Every config key: type, default, bounds, description.

The keys are in topic.py, `broker/`, group.py, client_metrics.py and quota.py; kconf's own settings in
server_settings.py. validators.py has the bounds, validate.py the message for an invalid value, units.py the units, and
`releases/` how other Kafka releases differ.
"""
