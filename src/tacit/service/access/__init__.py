"""Who may do what: callers, roles, tokens, and the one place that decides."""
