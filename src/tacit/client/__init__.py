"""Ask a service that others run, as a session is asked."""
