"""What a sample is, in a few numbers: enough to tell two samples apart, and to say where they differ.

Sums of floats come out differently in workers, which compute with one thread; so floats are compared by value, not by
their bytes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

LEAVES = 64
"""Parts of a sample that are looked at."""
PROBED = 16
"""Elements of an array that are compared."""

Leaf = tuple[str, str, tuple[float, ...]]
"""Type and shape, a digest of what has to be equal, numbers that have to be close."""
Print = dict[str, Leaf]
"""The leaves of a sample by their paths."""


def fingerprint(sample: Any) -> Print:
    found: Print = {}
    for path, value in leaves(sample):
        found[path] = leaf(value)
        if len(found) == LEAVES:
            break
    return found


def leaves(sample: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(sample, Mapping) and depth < 8:
        for key in sample:
            yield from leaves(sample[key], f"{path}[{key!r}]", depth + 1)
    elif isinstance(sample, list | tuple) and depth < 8:
        for position, value in enumerate(sample):
            yield from leaves(value, f"{path}[{position}]", depth + 1)
    elif _is_plain_object(sample) and depth < 8:
        for name, value in vars(sample).items():
            yield from leaves(value, f"{path}.{name}", depth + 1)
    else:
        yield path, sample


def _is_plain_object(sample: Any) -> bool:
    return (
        hasattr(sample, "__dict__")
        and not hasattr(sample, "dtype")
        and not hasattr(sample, "tobytes")
        and not callable(sample)
        and not isinstance(sample, type)
        and bool(vars(sample))
    )


def leaf(value: Any) -> Leaf:
    if isinstance(value, float):
        return "float", "", (value,)
    if value is None or isinstance(value, bool | int | str | bytes | complex):
        return type(value).__name__, _digest(repr(value).encode("utf-8", "backslashreplace")), ()
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        return _tensor(value)
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        return _array(value)
    if isinstance(value, set | frozenset):
        return (
            type(value).__name__,
            _digest(b"".join(sorted(_digest(repr(one).encode()).encode() for one in value))),
            (),
        )
    if hasattr(value, "tobytes"):  # a picture
        return f"{type(value).__name__}{getattr(value, 'size', '')}", _digest(value.tobytes()), ()
    shown = repr(value)
    return type(value).__name__, "" if " at 0x" in shown or len(shown) > 10_000 else _digest(shown.encode()), ()


def _tensor(value: Any) -> Leaf:
    try:
        plain = value.detach().cpu()
        if plain.dtype.is_floating_point:
            plain = plain.double()
        array = plain.numpy()
    except Exception:  # sparse, quantised, without numpy
        return f"{value.dtype}{list(value.shape)}", "", ()
    _, digest, numbers = _array(array)
    return f"{value.dtype}{list(value.shape)}", digest, numbers


def _array(value: Any) -> Leaf:
    kind = f"{value.dtype}{list(getattr(value, 'shape', ()))}"
    if getattr(value.dtype, "kind", "") != "f":
        return kind, _digest(repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()), ()
    flat = value.reshape(-1)
    step = max(1, len(flat) // PROBED)
    numbers = [float(one) for one in flat[::step][:PROBED]]
    if len(flat):
        numbers.append(float(flat.mean(dtype="float64")))
    return kind, "", tuple(numbers)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def same(one: Leaf, other: Leaf) -> bool:
    if one[:2] != other[:2] or len(one[2]) != len(other[2]):
        return False
    return all(
        math.isclose(mine, yours, rel_tol=1e-3, abs_tol=1e-6) or (mine != mine and yours != yours)
        for mine, yours in zip(one[2], other[2], strict=True)
    )


def differing(one: Print, other: Print) -> list[str]:
    """The paths at which two samples differ."""
    return [
        path for path in {**one, **other} if path not in one or path not in other or not same(one[path], other[path])
    ]


def token(printed: Print) -> str:
    """One word for a sample, for counting."""
    return _digest(
        repr(
            [
                (path, kind, digest, [f"{one:.3g}" for one in numbers])
                for path, (kind, digest, numbers) in printed.items()
            ]
        ).encode()
    )


def shown(value: Any) -> str:
    """A leaf, as a person wants to see it."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if getattr(value, "size", None) == 1 or (hasattr(value, "numel") and value.numel() == 1):
            return str(value.reshape(-1)[0].item()) if len(value.shape) else str(value.item())
        return f"{value.dtype}{list(value.shape)} {_first(value)}".rstrip()
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _first(value: Any) -> str:
    try:
        numbers = [f"{float(one):.4g}" for one in value.reshape(-1)[:3]]
    except (TypeError, ValueError, RuntimeError):
        return ""
    return f"({', '.join(numbers)}, ...)"


class Fingerprints:
    """A collate function that hands over what the samples are and who has read them, instead of the samples."""

    def __init__(self, collates: bool) -> None:
        self.collates = collates
        """Whether it is given lists of samples."""

    def __call__(self, samples: Any) -> list[tuple[int, Print, dict[str, str]]]:
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        worker = -1 if info is None else info.id
        return [
            (worker, fingerprint(sample), {path: shown(value) for path, value in leaves(sample)})
            for sample in (samples if self.collates else [samples])
        ]
