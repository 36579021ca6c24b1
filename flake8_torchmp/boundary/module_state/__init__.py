"""What modules and classes keep: who changes it, in which process, and who reads it."""
