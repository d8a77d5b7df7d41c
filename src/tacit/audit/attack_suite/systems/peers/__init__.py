"""Adapters of other libraries; each imports its library when it is asked."""
