"""Makes another start method the platform's default, as on macOS, Windows or Python 3.14.

With this folder on PYTHONPATH, DEFAULT_START names the method. A program may still choose its own with
`set_start_method`: nothing is fixed, only the default differs.
"""

import os

method = os.environ.get("DEFAULT_START")
if method:
    from multiprocessing import context

    context._default_context._default_context = context._concrete_contexts[method]  # type: ignore[attr-defined]
