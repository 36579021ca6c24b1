"""Whole runs of programs: what has happened before a place is come to, and what may come after it."""
