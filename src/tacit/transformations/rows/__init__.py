"""Steps on records: clamp, bin, cast, select, resize."""
