"""Runs one step of an examination in this process, and says how it went."""

from __future__ import annotations

import multiprocessing
import sys
import types
from typing import Any

from . import crossing, resources, rung, samples
from .channel import Channel
from .patient import CannotRunError, NotMadeError, admit, find
from .tracebacks import described


def run(step: dict[str, Any], channel: Channel) -> None:
    become_main()
    channel.say("began", methods=multiprocessing.get_all_start_methods())
    try:
        import torch.utils.data
    except ImportError as error:
        channel.say("cannot", phase="torch", error=f"{sys.executable} has no torch: {error}")
        return
    try:
        found = find(step["target"])
    except CannotRunError as error:
        channel.say("cannot", phase="find", error=str(error))
        return
    except BaseException as error:
        channel.say("cannot", phase="import", **described(error))
        return
    channel.say("imported")
    try:
        patient = admit(found)
    except CannotRunError as error:
        channel.say("cannot", phase="find", error=str(error))
        return
    except NotMadeError as error:
        channel.say("unmade", **described(error.__cause__ or error))
        return
    channel.say(
        "admitted",
        loader=type(patient.loader).__qualname__,
        dataset=type(patient.dataset).__qualname__,
        iterable=patient.is_iterable,
        is_own=patient.is_own,
        workers=patient.loader.num_workers if patient.is_own else None,
        threads=resources.threads(),
        torch=str(torch.__version__),
        default=multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0],
    )
    try:
        _examine(step, patient, channel)
    except BaseException as error:
        channel.say("failed", **described(error))
        return
    channel.say("done")


def _examine(step: dict[str, Any], patient: Any, channel: Channel) -> None:
    if step["step"] == "samples":
        samples.examine(patient, channel, step["samples"])
    elif step["step"] == "crossing":
        crossing.examine(patient, channel)
    else:
        rung.examine(patient, channel, step)


def become_main() -> None:
    """Nothing of the doctor's is imported anew by the workers: there is a main module, and it has no file."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
