"""Data that grows: refreshes, dashboards of counts over time, and reports of the local model."""
