"""Tables in DuckDB: files, frames and addresses."""
