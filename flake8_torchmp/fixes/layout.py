"""Where the lines of code begin when it moves; what stands inside strings stays as it is."""

from __future__ import annotations

import ast
import re


def string_lines(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for part in ast.walk(tree):
        if isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str | bytes)):
            found.update(range(part.lineno + 1, (part.end_lineno or part.lineno) + 1))
    return found


def behind_return(body: str, lead: str, step: str, newline: str, column: int) -> str:
    """A body of several lines as one expression behind `return`; it stood at a column."""
    comment = lead.strip()
    if not comment:
        try:
            tree = ast.parse(f"return_ = {body}")
            if len(tree.body) == 1 and (tree.body[0].end_lineno or 0) == len(body.splitlines()):
                return _shifted(body, step, tree, column)
        except SyntaxError:
            pass
    tree = ast.parse(f"({newline}{body}{newline})")
    lines = body.splitlines(keepends=True)
    inside = string_lines(tree)
    margin = min(
        (len(line) - len(line.lstrip()) for n, line in enumerate(lines[1:], 3) if line.strip() and n not in inside),
        default=0,
    )
    moved = [step * 2 + lines[0]]
    for number, line in enumerate(lines[1:], 3):
        moved.append(line if number in inside or not line.strip() else step * 2 + line[margin:])
    head = f"({newline}" + (f"{step * 2}{comment}{newline}" if comment else "")
    return f"{head}{''.join(moved)}{newline}{step})"


def _shifted(body: str, step: str, tree: ast.Module, column: int) -> str:
    lines = body.splitlines(keepends=True)
    inside = string_lines(tree)
    rest = [(n, line) for n, line in enumerate(lines[1:], 2)]
    margin = min((len(line) - len(line.lstrip()) for n, line in rest if line.strip() and n not in inside), default=0)
    last = lines[-1]
    base = len(last) - len(last.lstrip()) if last.strip()[:1] in (")", "]", "}") else margin - len(step)
    moved = [lines[0]]
    for number, line in rest:
        if number in inside or not line.strip():
            moved.append(line)
        elif margin > column:  # aligned with what stands behind an opening bracket
            moved.append(step + " " * (len("return ") + len(line) - len(line.lstrip()) - column) + line.lstrip())
        else:
            moved.append(step + " " * max(len(line) - len(line.lstrip()) - base, 0) + line.lstrip())
    return "".join(moved)


def is_about_lambda(comment: str) -> bool:
    """Whether a comment only allows `name = lambda ...` to a linter, and says nothing of a `def`."""
    return re.fullmatch(r"#\s*noqa:\s*E731\s*", comment) is not None


def indented(text: str, indent: str, *, first: bool = True) -> str:
    """Code with an indentation before its lines, blank ones and those inside strings aside."""
    inside = string_lines(ast.parse(text))
    return "".join(
        indent + line if line.strip() and number not in inside and (first or number > 1) else line
        for number, line in enumerate(text.splitlines(keepends=True), 1)
    )


def reindented(expression: str, before: str, after: str) -> str:
    """An expression of several lines whose statement stood behind one indentation, and now behind another."""
    inside = {number - 1 for number in string_lines(ast.parse(f"(\n{expression}\n)"))}
    return "".join(
        after + line.removeprefix(before) if number > 1 and number not in inside and line.startswith(before) else line
        for number, line in enumerate(expression.splitlines(keepends=True), 1)
    )
