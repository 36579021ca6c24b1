"""What becomes of failures in workers: caught, lost, turned into data, or a process that waits for ever."""
