"""What a service shows of its own work: an audit log, logs, metrics and traces, without values."""
