"""How a step says what it sees: a line of JSON for each event, on a pipe of its own."""

from __future__ import annotations

import json
import os
import time


class Channel:
    BEAT = 0.2
    """Seconds between two signs of life."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = os.getpid()
        self._beaten = 0.0

    def say(self, event: str, **fields: object) -> None:
        if os.getpid() != self._owner:  # a worker that was forked has a copy of this
            return
        line = json.dumps({"event": event, **fields}, default=repr).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]

    def beat(self) -> None:
        """Says that the patient is alive."""
        now = time.monotonic()
        if now - self._beaten > self.BEAT:
            self._beaten = now
            self.say("beat")
