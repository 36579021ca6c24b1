"""Makes every interpreter that a test starts use the stand-in, and the start method that it names."""

import os

from doors import stand_in_engine

stand_in_engine.install()
if os.environ.get("START_METHOD"):
    import multiprocessing

    multiprocessing.set_start_method(os.environ["START_METHOD"])  # noqa: TMP102 - before a child is told its method
