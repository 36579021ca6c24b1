"""Finds the code that breaks, hangs or silently lies once a PyTorch program runs in worker processes."""

__version__ = "0.1.0"
