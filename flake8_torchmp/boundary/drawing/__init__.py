"""What each worker draws: random numbers, and its own part of the data."""
