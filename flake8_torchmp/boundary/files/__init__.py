"""Files and folders: relative paths, listings, and what workers leave behind."""
