"""Display of objects: in text, in notebooks, and on pages."""
