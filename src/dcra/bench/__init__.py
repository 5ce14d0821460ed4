"""Measuring: what can be reached at all, and what is."""
