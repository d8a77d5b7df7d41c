"""What a release will publish, with which noise, and what it costs."""
