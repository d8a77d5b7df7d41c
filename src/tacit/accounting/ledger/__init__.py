"""The ledger, its hash chain and its stores."""
