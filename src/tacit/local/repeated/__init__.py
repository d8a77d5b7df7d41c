"""Answers that are given again and again by one device."""
