"""SQL as a way to write questions: parsed, translated, never executed."""

from tacit.sql import conditions, values  # noqa: F401  (they register their forms)
