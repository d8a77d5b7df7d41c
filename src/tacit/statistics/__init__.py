"""Statistics that know their own sensitivities.

Each statistic's room holds its value, its exact global and local sensitivity over every domain, and
the proofs.  Import from the modules, or take the names below, which load lazily.
"""
