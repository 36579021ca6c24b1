"""Holds what the patient's interpreter may import, and nothing else: this folder is put on its path."""
