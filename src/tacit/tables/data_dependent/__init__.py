"""Answers whose noise depends on the data: smooth, tested, sampled."""
