"""What Python source means: scopes, bindings, flow, values, calls, and the modules of a project.

Nothing here knows torch or multiprocessing.
"""
