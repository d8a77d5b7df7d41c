"""How objects show themselves: in text, in notebooks, and on pages; each builds plain parts."""
