"""Datasets and the loaders that they are given to."""
