"""One page that shows everything and asks nobody for anything: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import html
import linecache
from collections.abc import Sequence
from string import Template
from typing import Any

from flake8_torchmp import __version__
from flake8_torchmp.doctor.examination import Examination, Rung
from flake8_torchmp.doctor.judging.crossing import culprits
from flake8_torchmp.doctor.problems import Place, Problem, counted, size_of, time_of
from flake8_torchmp.doctor.stacks import Stack

from . import charts
from .text import named

_AROUND = 2
"""Lines of source before and after the one that matters."""

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>torchmp doctor: $target</title>
<style>
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --soft: #626a73; --line: #dfe3e8; --card: #f6f7f9;
  --good: #17703a; --good-back: #e2f4e8; --bad: #b3261e; --bad-back: #fce8e6; --warn: #8a5300; --warn-back: #fff1d6;
  --fork: #1f66d1; --spawn: #c2570c; --forkserver: #7a3fc0; --mark: #fff3bf; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --text: #e6e8eb; --soft: #9aa3ad; --line: #343a41;
  --card: #1d2126; --good: #7ddb9d; --good-back: #14331f; --bad: #ff9b93; --bad-back: #431715; --warn: #f3c063;
  --warn-back: #3a2a0b; --fork: #7db0ff; --spawn: #ffab70; --forkserver: #c6a0ff; --mark: #4a4213; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
.verdict { display: inline-block; margin: .8rem 0 .2rem; padding: .25rem .8rem; border-radius: 1rem; font-weight: 600; }
.works, .verdict.healthy { color: var(--good); background: var(--good-back); }
.fails, .hangs, .verdict.sick { color: var(--bad); background: var(--bad-back); }
.differs, .slow { color: var(--warn); background: var(--warn-back); }
.cards { display: grid; gap: 1rem; }
.pair { display: grid; gap: 1rem 2rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.card { border: 1px solid var(--line); border-left: .3rem solid var(--bad); border-radius: .4rem; padding: .8rem 1rem;
  background: var(--card); min-width: 0; overflow-wrap: anywhere; }
.card.costs { border-left-color: var(--warn); }
.card h3 { font-size: 1rem; margin: 0 0 .3rem; }
.help { font-weight: 600; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; }
pre { margin: .5rem 0; padding: .5rem .7rem; background: var(--back); border: 1px solid var(--line);
  border-radius: .3rem; font: .85rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
pre b { font-weight: inherit; background: var(--mark); display: block; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); font-size: .9rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.tag { padding: .1rem .5rem; border-radius: .7rem; font-size: .9rem; white-space: nowrap; }
.chart { width: 100%; max-width: 36rem; height: auto; display: block; }
.chart text { fill: var(--soft); font-size: 13px; }
.grid { stroke: var(--line); }
.curve polyline { fill: none; stroke: currentColor; stroke-width: 2.2; }
.curve circle, .curve rect { fill: currentColor; }
.bar { fill: var(--fork); }
.is-fork { color: var(--fork); } .is-spawn { color: var(--spawn); } .is-forkserver { color: var(--forkserver); }
.legend { margin: .2rem 0; font-size: .9rem; }
.legend span { display: inline-flex; align-items: center; gap: .35rem; margin-right: 1rem; }
details { margin-top: .5rem; } summary { cursor: pointer; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: grid; grid-template-columns: repeat(2, 1fr); gap: .1rem 1rem; padding: .5rem 0;
    border-bottom: 1px solid var(--line); }
  td, td.number { border: 0; padding: 0; text-align: left; }
  td:empty { display: none; }
  td[data-name]:not(:empty)::before { content: attr(data-name) ": "; color: var(--soft); }
}
</style>
</head>
<body>
<main>
<h1>$target</h1>
<p class="soft">$about</p>
<p><span class="verdict $health">$verdict</span></p>
$choice
$body
<p class="soft">torchmp doctor $version has run this code to see what it does.</p>
</main>
</body>
</html>
""")


def page(examination: Examination) -> str:
    problems = examination.ranked
    sick = bool(problems or examination.cannot)
    verdict = counted(len(problems), "problem") if problems else "could not be examined" if sick else "healthy"
    best, why = examination.chosen()
    under = f" under {best.method}" if best is not None and best.workers else ""
    choice = f"<p>It would choose <code>num_workers={best.workers}</code>{under}: {_text(why)}.</p>" if best else ""
    body = [
        _refusal(examination),
        _problems(problems),
        _ladder(examination.rungs),
        _curves(examination.rungs),
        _samples(examination),
        _culprits(examination),
    ]
    return _PAGE.substitute(
        target=_text(examination.wishes.target),
        about=_text(_about(examination)),
        health="sick" if sick else "healthy",
        verdict=_text(verdict),
        choice=choice,
        body="\n".join(part for part in body if part),
        version=_text(__version__),
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _about(examination: Examination) -> str:
    about = examination.admitted
    if not about:
        return ""
    kind = "iterable" if about["iterable"] else "map-style"
    return f"{about['loader']} over {about['dataset']}, {kind}; torch {about['torch']}"


def _refusal(examination: Examination) -> str:
    cannot = examination.cannot
    return f"<pre>{_text(cannot.get('text') or cannot['error'])}</pre>" if cannot else ""


def _problems(problems: Sequence[Problem]) -> str:
    cards = "".join(_card(problem) for problem in problems)
    return f'<h2>What is wrong, the worst first</h2>\n<div class="cards">{cards}</div>' if cards else ""


def _card(problem: Problem) -> str:
    parts = [f"<h3>{_text(problem.title)}</h3>"]
    parts += [f"<p>{_text(line)}</p>" for line in problem.details[:5]]
    parts += [_source(place) for place in problem.places[:4]]
    if (finding := problem.finding) is not None:
        where = f"{named(finding.path)}:{finding.line}"
        parts.append(f"<p><code>{_text(where)}</code> {_text(finding.code)} {_text(finding.message)}</p>")
    if problem.advice:
        parts.append(f'<p class="help">{_text(problem.advice[:1].upper() + problem.advice[1:])}.</p>')
    if problem.stacks:
        stacks = "".join(_stack(stack) for stack in problem.stacks)
        parts.append(f"<details open><summary>Where each process stands</summary>{stacks}</details>")
    weight = " costs" if problem.weight < 2 else ""
    return f'<article class="card{weight}">{"".join(parts)}</article>'


def _source(place: Place) -> str:
    """A line of the program, and those around it."""
    label = f" ({_text(place.label)})" if place.label else ""
    where = f"<p><code>{_text(named(place.path))}:{place.line}</code>{label}</p>"
    rows = []
    for number in range(max(1, place.line - _AROUND), place.line + _AROUND + 1):
        line = linecache.getline(place.path, number).rstrip("\n")
        if line or number == place.line:
            row = f"{number:>4}  {_text(line)}"
            rows.append(f"<b>{row}</b>" if number == place.line else f"{row}\n")
    return where + (f"<pre>{''.join(rows)}</pre>" if place.line else "")


def _stack(stack: Stack) -> str:
    threads = []
    for thread in stack.shortened():
        rows = [f"{named(frame.path)}:{frame.line} in {frame.function}" for frame in reversed(thread)]
        threads.append(_text("\n".join(rows)))
    said = "\n\n".join(threads) or "says nothing"
    return f"<p>{_text(stack.role)}, process {stack.pid}</p><pre>{said}</pre>"


_COLUMNS = ("workers", "start", "verdict", "first batch", "samples/s", "own/worker", "shared", "open files", "/dev/shm")


def _ladder(rungs: Sequence[Rung]) -> str:
    if not rungs:
        return ""
    head = "".join(f"<th{_number(at)}>{_text(name)}</th>" for at, name in enumerate(_COLUMNS))
    rows = "".join(_row(rung) for rung in rungs)
    return f"<h2>The ladder</h2>\n<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _number(column: int) -> str:
    return ' class="number"' if column > 2 else ""


def _row(rung: Rung) -> str:
    price = rung.price
    cells = [
        str(rung.workers),
        rung.method,
        "",
        _shown(price.get("first"), time_of),
        _shown(price.get("rate"), "{:.0f}".format),
        _shown(price.get("own"), size_of),
        _shown(price.get("shared"), size_of),
        _shown(price.get("files"), str),
        _shown(price.get("blocks"), lambda size: size_of(max(0, size))),
    ]
    tag = f'<span class="tag {rung.verdict.rpartition(" ")[0] or rung.verdict}">{_text(rung.verdict)}</span>'
    tag = tag.replace('"tag too"', '"tag slow"')
    return (
        "<tr>"
        + "".join(
            f'<td{_number(at)} data-name="{_text(name)}">{tag if at == 2 else _text(cell)}</td>'
            for at, (name, cell) in enumerate(zip(_COLUMNS, cells, strict=True))
        )
        + "</tr>"
    )


def _shown(value: Any, form: Any) -> str:
    return "" if value is None else str(form(value))


def _curves(rungs: Sequence[Rung]) -> str:
    methods = list(dict.fromkeys(rung.method for rung in rungs if rung.method and rung.price.get("first")))
    alone = [rung for rung in rungs if not rung.workers]
    rates: dict[str, list[tuple[int, float]]] = {}
    memory: dict[str, list[tuple[int, float]]] = {}
    for method in methods:
        climbed = [rung for rung in rungs if rung.method == method]
        rates[method] = [(rung.workers, rung.price["rate"]) for rung in [*alone, *climbed] if rung.price.get("rate")]
        memory[method] = [(rung.workers, rung.price["own"]) for rung in climbed if rung.price.get("own")]
    figures = "".join(
        f"<figure><figcaption>{title}</figcaption>{charts.legend(methods)}{chart}</figure>"
        for title, chart in (
            ("Samples per second", charts.lines(rates, lambda rate: f"{rate:,.0f}", "workers")),
            ("Memory of each worker's own", charts.lines(memory, size_of, "workers")),
        )
        if chart
    )
    return f'<h2>The price</h2>\n<div class="pair">{figures}</div>' if figures else ""


def _samples(examination: Examination) -> str:
    event: Any = examination.samples.event("samples") if examination.samples else None
    if not event or not event["times"]:
        return ""
    times = [(f"sample {key}", seconds) for key, seconds in event["times"]]
    figures = [
        f"<figure><figcaption>Time to read each</figcaption>{charts.bars(times, time_of, 'in the order read')}</figure>"
    ]
    growth: Any = examination.samples.event("growth") if examination.samples else None
    if growth and max(growth["memory"]) > 1 << 20:
        rounds = [(f"round {number}", max(0.0, more)) for number, more in enumerate(growth["memory"], 2)]
        chart = charts.bars(rounds, size_of, "each time the same samples are read again")
        figures.append(f"<figure><figcaption>Memory that stays</figcaption>{chart}</figure>")
    return f'<h2>The samples</h2>\n<div class="pair">{"".join(figures)}</div>'


def _culprits(examination: Examination) -> str:
    if examination.crossing is None:
        return ""
    known = any(problem.kind == "not-picklable" for problem in examination.problems)
    sizes: list[Any] = [
        one for one in examination.crossing.events if one["event"] == "crosses" and one["size"] is not None
    ]
    if known and not sizes:
        return ""
    crossing = ", ".join(f"<code>{_text(one['name'])}</code> {size_of(one['size'])}" for one in sizes)
    found = "".join(
        f'<article class="card"><h3><code>{_text(one["way"])}</code></h3>'
        f"<p>{_text(one['what'])}: {_text(one['error'])}</p>"
        + (_source(Place(one["path"], one["line"])) if one.get("path") else "")
        + "</article>"
        for one in ([] if known else culprits(examination.crossing))
    )
    return f'<h2>What crosses to a spawned worker</h2>\n<p>{crossing}</p><div class="cards">{found}</div>'
