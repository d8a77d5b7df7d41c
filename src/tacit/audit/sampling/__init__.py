"""Lower bounds on epsilon from runs, valid at whatever moment the runs stop."""
