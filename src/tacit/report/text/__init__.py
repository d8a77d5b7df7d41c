"""Certificates in sentences."""
