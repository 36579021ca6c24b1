"""What libraries offer, as tables, a row each: the ways over the boundary, openers, paths, random generators."""
