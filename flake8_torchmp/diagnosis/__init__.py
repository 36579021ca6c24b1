"""From what a program printed to the line to change: what is said, what can cause it, and which finding explains it."""
