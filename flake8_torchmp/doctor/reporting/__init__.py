"""How an examination is shown: as text while it goes on, as JSON, as a page."""
