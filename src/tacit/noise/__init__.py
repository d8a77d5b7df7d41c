"""Exact noise: secure bits, certified enclosures, and draws by integer inversion."""
