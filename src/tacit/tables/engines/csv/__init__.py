"""CSV files: how they are written is declared, never guessed."""
