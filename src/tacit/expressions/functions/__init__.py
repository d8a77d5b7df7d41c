"""Functions of one row: text, dates and times, whole numbers; one table of what each means."""
