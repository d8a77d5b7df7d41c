"""Answers that follow from earlier releases, at no cost."""
