"""Questions in writing: conditions as text, and the fields of a question in a plan or in JSON."""
