"""Released answers in the formats of official statistics."""
