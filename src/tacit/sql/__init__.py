"""SQL as a way to write questions: parsed, translated, never executed."""
