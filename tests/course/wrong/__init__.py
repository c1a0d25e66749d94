"""Plausible mistakes: for each question, what to replace in its solution, and by what."""
