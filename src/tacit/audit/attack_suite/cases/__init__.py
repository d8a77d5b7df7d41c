"""The attacks, by what they aim at; importing a module registers its cases."""
