"""Curves and bars as SVG that stands in a page by itself."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence

WIDTH, HEIGHT = 520, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 12, 38
_MARKS = ("circle", "square", "diamond")

Points = Sequence[tuple[int, float]]


def lines(curves: Mapping[str, Points], form: Callable[[float], str], across: str) -> str:
    """A curve for each name; the numbers across are steps of equal width, as 0, 1, 2, 4 workers are."""
    numbers = sorted({x for points in curves.values() for x, _ in points})
    if not numbers:
        return ""
    highest = _round_up(max(y for points in curves.values() for _, y in points))
    width, height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def place(x: int, y: float) -> tuple[float, float]:
        part = numbers.index(x) / (len(numbers) - 1) if len(numbers) > 1 else 0.5
        return _LEFT + part * width, _TOP + height * (1 - y / highest)

    parts = [_grid(highest, form, height)]
    for number in numbers:
        x, _ = place(number, 0)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 20}" text-anchor="middle">{number}</text>')
    parts.append(f'<text x="{_LEFT + width / 2}" y="{HEIGHT - 4}" text-anchor="middle">{html.escape(across)}</text>')
    for position, (name, points) in enumerate(curves.items()):
        places = [place(x, y) for x, y in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        marks = "".join(
            _mark(_MARKS[position % len(_MARKS)], x, y, f"{name}, {number}: {form(value)}")
            for (number, value), (x, y) in zip(sorted(points), places, strict=True)
        )
        parts.append(f'<g class="curve {_class(name)}"><polyline points="{path}"/>{marks}</g>')
    return _svg(parts, HEIGHT)


def bars(values: Sequence[tuple[str, float]], form: Callable[[float], str], across: str) -> str:
    """A bar for each value, in order."""
    if not values:
        return ""
    height = 150
    highest = _round_up(max(value for _, value in values))
    width, depth = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    each = width / len(values)
    parts = [_grid(highest, form, depth)]
    for position, (name, value) in enumerate(values):
        tall = max(1.0, depth * value / highest)
        parts.append(
            f'<rect class="bar" x="{_LEFT + position * each:.1f}" y="{_TOP + depth - tall:.1f}" '
            f'width="{max(1.0, each * 0.8):.1f}" height="{tall:.1f}">'
            f"<title>{html.escape(name)}: {html.escape(form(value))}</title></rect>"
        )
    parts.append(f'<text x="{_LEFT + width / 2}" y="{height - 12}" text-anchor="middle">{html.escape(across)}</text>')
    return _svg(parts, height)


def legend(names: Sequence[str]) -> str:
    items = [
        f'<span class="{_class(name)}"><svg viewBox="0 0 26 12" width="26" height="12" aria-hidden="true">'
        f'<g class="curve {_class(name)}"><polyline points="1,6 25,6"/>{_mark(_MARKS[at % len(_MARKS)], 13, 6, "")}</g>'
        f"</svg>{html.escape(name)}</span>"
        for at, name in enumerate(names)
    ]
    return f'<p class="legend">{"".join(items)}</p>'


def _svg(parts: Sequence[str], height: int) -> str:
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img">{"".join(parts)}</svg>'


def _grid(highest: float, form: Callable[[float], str], height: float) -> str:
    parts = []
    for quarter in range(5):
        y = _TOP + height * (1 - quarter / 4)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        if quarter % 2 == 0:
            label = html.escape(form(highest * quarter / 4))
            parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    return "".join(parts)


def _mark(shape: str, x: float, y: float, title: str) -> str:
    told = f"<title>{html.escape(title)}</title>" if title else ""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5">{told}</circle>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"{turn}>{told}</rect>'


def _class(name: str) -> str:
    return "is-" + "".join(letter if letter.isalnum() else "-" for letter in name)


def _round_up(value: float) -> float:
    """The next number that reads well."""
    if value <= 0:
        return 1.0
    unit = 1024.0 ** math.floor(math.log(value, 1024)) if value >= 1 << 20 else 1.0
    power = unit * 10.0 ** math.floor(math.log10(value / unit))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value * 0.999)
