"""Statistics that know their own sensitivities."""
