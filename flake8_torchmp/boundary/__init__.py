"""The line between a parent process and its workers: what crosses it, what runs behind it, what starts it."""
