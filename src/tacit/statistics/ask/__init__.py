"""What users call: sensitivities, profiles, tables, smooth and sampled sensitivity."""
