"""What starts processes and threads, and what of it runs while a module is imported."""
