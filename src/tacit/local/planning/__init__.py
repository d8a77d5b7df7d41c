"""Which mechanism to take, what shuffling amplifies, what poisoned reports can do."""
