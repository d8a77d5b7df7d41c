"""The wire, the collector and the browser client."""
