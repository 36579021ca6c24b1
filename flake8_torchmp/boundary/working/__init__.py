"""Worker code: what runs behind the boundary, how it is reached, and on which side a test puts it."""
