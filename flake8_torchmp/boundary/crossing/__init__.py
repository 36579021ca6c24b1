"""What goes over the boundary: the calls that hand something to workers, and all that hangs on what they hand over."""
