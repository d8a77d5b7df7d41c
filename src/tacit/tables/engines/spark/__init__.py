"""Tables in Spark."""
