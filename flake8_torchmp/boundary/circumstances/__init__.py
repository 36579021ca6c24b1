"""Under which circumstances code runs: which process, platform and start method, while importing or after it."""
