"""A data set as a database of the PostgreSQL protocol: aggregate SQL for psql and BI tools."""
