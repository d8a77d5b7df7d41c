"""How PostgreSQL is reached: by tables that are read, and by ledgers."""
