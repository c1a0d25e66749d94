"""Measured beside the alternatives: one script a question, one table for all; see `harness`."""
