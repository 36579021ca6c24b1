"""What objects keep when they go to workers, and what becomes of the copies: handles, buffers, counters."""
