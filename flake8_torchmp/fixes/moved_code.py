"""The text of a definition as it stands at module level."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import libcst as cst

from flake8_torchmp.semantics.nodes import last_name

from .captures import Lift
from .change import Edit, NotFixable, applied
from .document import Document
from .layout import behind_return
from .outline import outline_of

OWN_INIT = frozenset("dataclass attrs define frozen NamedTuple TypedDict Enum IntEnum StrEnum Flag BaseModel".split())
"""Decorators and bases of classes that make an `__init__` out of their fields, or that have none."""


class MovedCode:
    def __init__(self, document: Document, lifts: Sequence[Lift], use: Callable[[Lift, ast.Name], list[Edit]]) -> None:
        self.document = document
        self.outline = outline_of(document)
        self.text = document.text
        self.lifts = lifts
        """All that move together."""
        self.use = use
        """What one of them becomes where another one reads it."""
        self.attributes: dict[str, dict[str, str]] = {}
        """For the object of a method: its attributes that are handed over, with the names of their parameters."""

    def definition(self, lift: Lift, first: str = "") -> str:
        """A definition as it stands at module level, from its first to its last line."""
        text = self.lambda_as_function(lift) if isinstance(lift.node, ast.Lambda) else self._moved_text(lift)
        try:
            module = cst.parse_module(text, config=cst.PartialParserConfig(default_newline=self.document.newline))
        except cst.ParserSyntaxError as error:
            raise NotFixable(f"the moved code cannot be read: {error.message}") from None
        statement: Any = module.body[-1]
        if isinstance(statement, cst.ClassDef):
            statement = self._class_with_arguments(lift, statement)
        else:
            statement = _function_with_parameters(statement, lift, first, self._annotations(lift))
        return module.with_changes(body=[*module.body[:-1], statement]).code

    def lambda_as_function(self, lift: Lift) -> str:
        node, newline = lift.node, self.document.newline
        segment = applied(self.text, self._inner_edits(lift))
        shift = len(segment) - len(self.text)
        segment = segment[self.outline.start(node) : self.outline.end(node) + shift]
        expression = cst.ensure_type(cst.parse_expression(f"({segment})").with_changes(lpar=(), rpar=()), cst.Lambda)
        empty = cst.Module([])
        parameters = empty.code_for_node(expression.params).strip().rstrip(",")
        body = segment[segment.rindex(empty.code_for_node(expression.body).strip()) :]
        step = self.document.indent
        head = segment[: len(segment) - len(body)]
        lead = head.rpartition(":")[2]
        column = self.outline.start(node) - self.outline.line_start(self.outline.start(node)) + len(head)
        if "\n" in head or "\r" in head:
            column = len(head) - max(head.rfind("\n"), head.rfind("\r")) - 1
        if "\n" in segment or "\r" in segment:
            body = behind_return(body, lead, step, newline, column)
        return f"def {lift.name}({parameters}):{newline}{step}return {body}{newline}"

    def _moved_text(self, lift: Lift) -> str:
        node = lift.node
        outline = self.outline
        first = outline.line_with_comments(node)
        start, end = outline.line_offset(first), outline.end(node)
        tail = self.text[end : self.document.line_after(end)]
        if tail.strip().startswith("#"):
            end += len(tail.rstrip())
        indent = outline.indent(node)
        inside = outline.inside_strings(node)
        edits = [*self._inner_edits(lift)]
        for line in range(first, (node.end_lineno or first) + 1):
            place = outline.line_offset(line)
            if line not in inside and self.text.startswith(indent, place) and indent:
                edits.append(outline.edit(place, place + len(indent), ""))
        text = applied(self.text, edits)
        shift = len(text) - len(self.text)
        text = text[start : end + shift] + self.document.newline
        if node.name != lift.name:
            text = _renamed(text, lift.name)
        return text

    def _inner_edits(self, lift: Lift) -> Iterator[Edit]:
        """What changes inside a definition that moves: the names of others that move, what instances keep."""
        for other in self.lifts:
            if other.binding is None:
                continue
            for use in self.outline.references(other.binding):
                if any(part is use for part in ast.walk(lift.node)):
                    if lift.is_class and lift.captured and other is lift:
                        if isinstance(self.outline.parents[use], ast.Attribute) and use.id == lift.name:
                            continue
                        raise NotFixable(f"the class {lift.node.name} names itself and captures local names")
                    yield from self.use(other, use)
        for own, found in self.attributes.items():
            for name in self.outline.names(lift.node):
                if name.id == own and not self.outline.is_header(name, lift.node):
                    attribute: Any = self.outline.parents[name]
                    yield self.outline.edit(
                        self.outline.start(attribute), self.outline.end(attribute), found[attribute.attr]
                    )
        if lift.is_class:
            yield from self._kept_by_instances(lift)

    # annotations

    def _annotations(self, lift: Lift) -> dict[str, str]:
        if isinstance(lift.node, ast.Lambda) or not _is_annotated(lift.node):
            return {}
        return {name: self._annotation(lift, name) for name in lift.captured}

    def _annotation(self, lift: Lift, name: str) -> str:
        """The annotation that a captured parameter has where it comes from."""
        parameter: Any = lift.captured[name].bindings[name][0].node
        note = getattr(parameter, "annotation", None)
        if not isinstance(note, ast.expr):
            return ""
        for part in self.outline.names(note):
            bindings = self.outline.module.scope.bindings.get(part.id, ())
            known = hasattr(builtins, part.id) and not bindings
            if not known and not any(b.kind in ("import", "from") for b in bindings):
                return ""
        return self.outline.code(note)

    # classes

    def _attribute(self, lift: Lift, name: str) -> str:
        known = {a.attr for a in ast.walk(lift.node) if isinstance(a, ast.Attribute)}
        known |= set(self.outline.module.scopes[lift.node].bindings)
        wanted = name
        while wanted in known:
            wanted = f"_{wanted}"
        return wanted

    def _kept_by_instances(self, lift: Lift) -> Iterator[Edit]:
        scopes = self.outline.module.scopes
        for use in self.outline.names(lift.node):
            owner = self.outline.owner(use) if not self.outline.is_header(use, lift.node) else None
            if use.id not in lift.captured or owner is not lift.captured[use.id]:
                continue
            method: Any = None
            for item in self.outline.ancestors(use):
                if item is lift.node:
                    break
                method = item
            decorators = {last_name(d) for d in getattr(method, "decorator_list", ())}
            if (
                not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
                or {"staticmethod", "classmethod"} & decorators
            ):
                raise NotFixable(f"the class reads {use.id}, which is local, outside of its methods")
            if self.outline.is_header(use, method):
                raise NotFixable(f"the class reads {use.id}, which is local, in the header of a method")
            if method.name == "__init__":
                continue
            arguments = [*method.args.posonlyargs, *method.args.args]
            if not arguments or method.name == "__new__" or len(scopes[method].bindings[arguments[0].arg]) > 1:
                raise NotFixable(f"{method.name}() has no object to keep {use.id}")
            if self.outline.owner_from(arguments[0].arg, self.outline.scope_of(use)) is not scopes[method]:
                raise NotFixable(f"{arguments[0].arg} means something else where {use.id} is read")
            text = f"{arguments[0].arg}.{self._attribute(lift, use.id)}"
            yield self.outline.edit(self.outline.start(use), self.outline.end(use), text)

    def _class_with_arguments(self, lift: Lift, statement: cst.ClassDef) -> cst.ClassDef:
        if not lift.captured and not lift.imports:
            return statement
        if lift.imports:
            raise NotFixable("the class needs a local import")
        node: ast.ClassDef = lift.node
        known = {last_name(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list}
        known |= {last_name(base) for base in node.bases} | {last_name(k.value) for k in node.keywords}
        if known & OWN_INIT:
            raise NotFixable("the class makes its own __init__ and captures local names")
        keep = [f"self.{self._attribute(lift, name)} = {name}" for name in lift.captured]
        inits = [
            item for item in statement.body.body if isinstance(item, cst.FunctionDef) and item.name.value == "__init__"
        ]
        body: list[Any] = list(statement.body.body)
        if inits:
            index = body.index(inits[-1])
            body[index] = _init_with_arguments(inits[-1], list(lift.captured), keep)
        else:
            names = ", ".join(lift.captured)
            given = any(self._is_made_with_arguments(use) for use in self._uses_of(lift))
            bases = [base for base in node.bases if last_name(base) not in ("object", "ABC", "Protocol", "Generic")]
            head = f"def __init__(self, *args, {names}, **kwargs):" if given else f"def __init__(self, {names}):"
            above = ["super().__init__(*args, **kwargs)" if given else "super().__init__()"] if bases else []
            step = self.document.indent
            lines = [head, *(step + line for line in [*above, *keep])]
            made: Any = cst.parse_statement("\n".join(lines) + "\n")
            index = 0
            while index < len(body) and not isinstance(body[index], cst.FunctionDef | cst.ClassDef):
                index += 1
            if index < len(body):
                if index == 0:
                    gap = body[0].leading_lines or (cst.EmptyLine(indent=False),)
                    body[0] = body[0].with_changes(leading_lines=gap if index == 0 else body[0].leading_lines)
                else:
                    made = made.with_changes(leading_lines=[cst.EmptyLine(indent=False)])
                if index and not body[index].leading_lines:
                    body[index] = body[index].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
            body.insert(index, made)
        return statement.with_changes(body=statement.body.with_changes(body=body))

    def _uses_of(self, lift: Lift) -> list[ast.Name]:
        return self.outline.references(lift.binding) if lift.binding is not None else []

    def _is_made_with_arguments(self, use: ast.Name) -> bool:
        parent = self.outline.parents[use]
        if isinstance(parent, ast.Call) and parent.func is use:
            return bool(parent.args or parent.keywords)
        return not isinstance(parent, ast.Attribute)


def _renamed(text: str, wanted: str) -> str:
    module = cst.parse_module(text)
    statement: Any = module.body[-1]
    renamed = statement.with_changes(name=statement.name.with_changes(value=wanted))
    return module.with_changes(body=[*module.body[:-1], renamed]).code


def _function_with_parameters(function: Any, lift: Lift, first: str, notes: dict[str, str]) -> Any:
    """A function that takes what it captured as keyword-only parameters, and imports what it used to find imported."""
    parameters: cst.Parameters = function.params
    names = list(lift.captured)
    moved = [p for p in (*parameters.params, *parameters.kwonly_params) if p.name.value in lift.defaults]
    known = {p.name.value for p in moved}
    names += [name for name in lift.defaults if name not in known]
    if first:
        own = cst.Param(cst.Name(first))
        if parameters.posonly_params:
            parameters = parameters.with_changes(posonly_params=[own, *parameters.posonly_params])
        else:
            parameters = parameters.with_changes(params=[own, *parameters.params])
    if names or moved:
        kept = [p for p in parameters.params if p.name.value not in known]
        keywords = [p for p in parameters.kwonly_params if p.name.value not in known]
        keywords += [p.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT, star="") for p in moved]
        keywords += [_parameter(name, notes.get(name, "")) for name in names]
        star = parameters.star_arg
        if isinstance(star, cst.MaybeSentinel):
            star = cst.ParamStar()
        clean = [p.with_changes(comma=cst.MaybeSentinel.DEFAULT) if p is kept[-1] else p for p in kept]
        parameters = parameters.with_changes(
            params=clean if len(clean) == 0 or "\n" not in cst.Module([]).code_for_node(clean[-1]) else kept,
            star_arg=star,
            kwonly_params=[p.with_changes(comma=cst.MaybeSentinel.DEFAULT) for p in keywords],
        )
    function = function.with_changes(params=parameters)
    if lift.imports:
        lines: list[Any] = [cst.parse_statement(lift.imports[place]) for place in sorted(lift.imports)]
        body: Any = list(function.body.body) if isinstance(function.body, cst.IndentedBlock) else None
        if body is None:
            raise NotFixable("its body stands on the line of its header")
        at = 1 if function.get_docstring() is not None and len(body) > 1 else 0
        if at < len(body):
            body[at] = body[at].with_changes(leading_lines=[cst.EmptyLine(indent=False), *body[at].leading_lines])
        body[at:at] = lines
        function = function.with_changes(body=function.body.with_changes(body=body))
    return function


def _parameter(name: str, note: str) -> cst.Param:
    annotation = cst.Annotation(cst.parse_expression(note)) if note else None
    return cst.Param(cst.Name(name), annotation=annotation, star="")


def _is_annotated(function: Any) -> bool:
    return function.returns is not None or any(a.annotation for a in ast.walk(function.args) if isinstance(a, ast.arg))


def _init_with_arguments(init: cst.FunctionDef, names: list[str], keep: list[str]) -> cst.FunctionDef:
    """An `__init__` that takes and keeps more, after it has called the one of its base."""
    lift = Lift(None, None, dict.fromkeys(names))  # type: ignore[arg-type]
    init = _function_with_parameters(init, lift, "", {})
    if not isinstance(init.body, cst.IndentedBlock):
        raise NotFixable("its __init__ stands on one line")
    own = init.params.params[0].name.value if init.params.params else "self"
    body = list(init.body.body)
    at = 1 if init.get_docstring() is not None else 0
    for index, statement in enumerate(body):
        code = cst.Module([]).code_for_node(statement)
        if isinstance(statement, cst.SimpleStatementLine) and "__init__(" in code:
            at = index + 1
    kept: list[Any] = [cst.parse_statement(line.replace("self.", f"{own}.", 1)) for line in keep]
    body[at:at] = kept
    return init.with_changes(body=init.body.with_changes(body=body))
