"""Functions and classes move to module level, where pickle finds them by name.

What they read of the functions around them goes along: other local functions and classes move with them, local imports
are repeated inside, and what else they capture becomes keyword-only parameters that `functools.partial` fills in, or
for a class arguments that its instances keep. A function that reads the `self` of a method becomes a method.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from flake8_torchmp.semantics.binder import MUTATORS
from flake8_torchmp.semantics.calls import receiver_name
from flake8_torchmp.semantics.nodes import COMPREHENSIONS, DEFINITIONS, last_name
from flake8_torchmp.semantics.scopes import Binding, Scope

from .captures import Captures, Lift
from .change import Change, Edit, NotFixable
from .document import Document
from .layout import indented, is_about_lambda
from .moved_code import MovedCode
from .naming import PLAIN, names_for
from .outline import Outline, is_function, outline_of


class Lifting:
    """One change: a definition, and those that it needs."""

    def __init__(self, document: Document, node: Any, notes: Mapping[str, str]) -> None:
        self.document = document
        self.outline: Outline = outline_of(document)
        self.text = document.text
        self.role = notes.get("role", "")
        self.is_direct = notes.get("direct") == "yes"
        """Whether it is itself what is handed over, not a part of something."""
        self.crossing = int(notes.get("crosses", "0"))
        """The line where it is handed over, if that is in the same file."""
        self.edits: list[Edit] = []
        self.imports: list[Edit] = []
        self.taken_out: list[ast.stmt] = []
        self.captures = Captures(self.outline)
        self.main = self.captures.add(node)
        self.lifts = self.captures.lifts
        self.code = MovedCode(document, self.lifts, self._handed)
        self.top = self.outline.top(node)
        if self.outline.early_exit is not None and self.outline.is_guarded(node):
            self.top = self.outline.early_exit

    def change(self, what: str) -> Change:
        self._refuse_cached()
        self.captures.complete()
        method = self._method_of_capture()
        if method is not None:
            return self._as_method(*method, what=what)
        key = self._key()
        known = self._known(key) if key is not None else None
        if known is not None:
            self.main.name, inserted = known
            self._replace(self.main, "expression")
            return Change((*inserted, *self.edits), self.captures.is_safe, what.format(name=self.main.name))
        plans = [(lift, self._plan(lift)) for lift in self.lifts]
        for lift, plan in plans:
            if plan == "moved" and not self.document.reserved(lift.name) and lift.name == lift.binding_name:
                raise NotFixable(f"another fix gives the name {lift.name} to something else")
        hoisted = [self.captures.imports[place] for place in sorted(self.captures.imports)]
        self.taken_out = [self.outline.statement(lift.node) for lift, plan in plans if plan == "moved"] + hoisted
        for lift, plan in plans:
            self._replace(lift, plan)
        for statement in hoisted:
            self._remove(statement)
        self.imports += self.document.with_moved([self._with_its_comments(statement) for statement in hoisted])
        ordered = sorted(self.lifts, key=lambda lift: self.outline.start(lift.node))
        definitions = [self._with_comments(lift, self.code.definition(lift)) for lift in ordered]
        inserted = tuple(self._inserted(definitions))
        if key is not None:
            self.document.made.setdefault(key, (self.main.name, inserted))
        edits = (*self.imports, *inserted, *self._without_inner(self.edits))
        return Change(edits, self.captures.is_safe, what.format(name=self.main.name))

    def _with_its_comments(self, statement: ast.stmt) -> str:
        first = self.outline.line_offset(self.outline.line_with_comments(statement))
        lines = self.text[first : self.document.line_after(self.outline.end(statement))].splitlines()
        indent = self.outline.indent(statement)
        return self.document.newline.join(line.removeprefix(indent) for line in lines)

    def as_partial(self, name: str, values: list[tuple[str, str]], what: str) -> Change:
        """A lambda that only hands its arguments and captures on is a partial of the function that it calls."""
        self._check_captures(self.main, self.main.node)
        edit = self.outline.edit(*self.outline.with_parentheses(self.main.node), self._partial(name, values))
        return Change((*self.imports, edit), False, what)

    def _key(self) -> tuple[str, str] | None:
        """What a lambda that reads nothing local is for, and what it does: those that agree become one function."""
        lift, node = self.main, self.main.node
        is_plain = not (lift.filled_in() or lift.imports or lift.needs) and "#" not in self.outline.code(node)
        if not isinstance(node, ast.Lambda) or lift.binding is not None or not is_plain:
            return None
        return self._names(lift)[0], ast.dump(node)

    def _known(self, key: tuple[str, str]) -> tuple[str, tuple[Edit, ...]] | None:
        """The function of module level, there or about to be, that is the same lambda's."""
        made, place = self.document.made.get(key), self._place()
        if made is not None:
            return made if all(edit.start <= place for edit in made[1]) else None
        wanted = (ast.dump(self.main.node.args), ast.dump(self.main.node.body))
        for name in self._names(self.main):
            bindings = self.outline.module.scope.bindings.get(name, ())
            function: Any = bindings[0].node if len(bindings) == 1 else None
            if function not in self.outline.tree.body or not isinstance(function, ast.FunctionDef):
                continue
            done = function.body[0]
            if len(function.body) > 1 or function.decorator_list or not isinstance(done, ast.Return) or not done.value:
                continue
            if self.outline.start(function) < place and wanted == (ast.dump(function.args), ast.dump(done.value)):
                return name, ()
        return None

    def _with_comments(self, lift: Lift, text: str) -> str:
        """A lambda's function takes up what was said above and behind `name = lambda ...`."""
        statement = self.outline.statement(lift.node)
        if not isinstance(lift.node, ast.Lambda) or statement not in self.taken_out:
            return text
        end = self.outline.end(statement)
        behind = self.text[end : self.document.line_after(end)].strip()
        first = self.outline.line_offset(self.outline.line_with_comments(statement))
        lines = self.text[first : self.outline.line_start(self.outline.start(statement))].splitlines()
        newline = self.document.newline
        head, colon, body = text.partition(f":{newline}")
        if behind.startswith("#") and not is_about_lambda(behind):
            colon = f":  {behind}{newline}"
        return "".join(f"{line.strip()}{newline}" for line in lines if line.strip()) + head + colon + body

    def _plan(self, lift: Lift) -> str:
        """What becomes of the place of a definition: "expression", "moved" away, or "assigned" the new name."""
        if lift.binding is None:
            lift.name = self._named(lift)
            return "expression"
        name = lift.binding.name
        statement = self.outline.statement(lift.node)
        is_only = len(lift.binding.scope.bindings[name]) == 1 and self.outline.alone_on_its_lines(statement)
        uses = [use for use in self.outline.references(lift.binding) if not self._is_in_lifts(use)]
        if is_only and (not lift.filled_in() or lift.is_class or self._is_used_at_most_once(lift, uses)):
            lift.name = name if self._may_keep(name, lift) else self.document.fresh(f"_{name.lstrip('_')}")
            return "moved"
        if isinstance(lift.node, ast.Lambda):
            lift.name = self._named(lift)
            return "expression"
        lift.name = self.document.fresh(f"_{name.lstrip('_')}")
        return "assigned"

    def _refuse_cached(self) -> None:
        """`lru_cache(f)` is looked up by the name of `f`, which another object has."""
        lift = self.main
        for use in [lift.node, *(self.outline.references(lift.binding) if lift.binding is not None else ())]:
            call: Any = self.outline.parents.get(use)
            if isinstance(call, ast.Call) and use in call.args:
                made_by = call.func.func if isinstance(call.func, ast.Call) else call.func
                if last_name(made_by) in ("lru_cache", "cache"):
                    raise NotFixable("a cached function has to be decorated where it is defined")

    def _names(self, lift: Lift) -> list[str]:
        return list(names_for(self.outline, lift.node, self.role, is_task=self.is_direct))

    def _named(self, lift: Lift) -> str:
        """The best name that is free, before any with a number, which is better than one that says nothing."""
        names = self._names(lift)
        telling = [name for name in names if name not in PLAIN] or names
        return self.document.fresh(next((name for name in telling if self.document.is_free(name)), telling[0]))

    def _is_used_at_most_once(self, lift: Lift, uses: list[ast.Name]) -> bool:
        return not uses or (len(uses) == 1 and self.outline.start(uses[0]) > self.outline.end(lift.node))

    def _is_in_lifts(self, node: ast.AST) -> bool:
        return any(
            self.outline.start(lift.node) <= self.outline.start(node) < self.outline.end(lift.node)
            for lift in self.lifts
        )

    def _may_keep(self, name: str, lift: Lift) -> bool:
        """Whether a name means nothing at module level yet."""
        assert lift.binding is not None
        if lift.binding.scope.is_module:
            return True
        module = self.outline.module.scope
        if name in module.bindings or hasattr(builtins, name) or module.star_imports:
            return False
        for other in self.outline.all_names:
            if other.id == name and self.outline.owner(other) in (None, module):
                return False
        return not any(other is not lift and other.name == name for other in self.lifts)

    def _replace(self, lift: Lift, plan: str) -> None:
        statement = self.outline.statement(lift.node)
        if plan == "expression":
            self.edits.append(self.outline.replaced(lift.node, self._use(lift, lift.node)))
            return
        if plan == "assigned":
            start = self.outline.offset(self.outline.first_line(statement), 0) + len(self.outline.indent(statement))
            value = self._use(lift, statement)
            self.edits.append(self.outline.edit(start, self.outline.end(statement), f"{statement.name} = {value}"))
            return
        self._remove(statement)
        assert lift.binding is not None
        for use in self.outline.references(lift.binding):
            if not self._is_in_lifts(use):
                self.edits += self._use_edits(lift, use)

    def _use_edits(self, lift: Lift, use: ast.Name) -> list[Edit]:
        start, end = self.outline.start(use), self.outline.end(use)
        filled, parent = lift.filled_in(), self.outline.parents[use]
        renamed = [self.outline.edit(start, end, lift.name)] if lift.name != use.id else []
        if not filled:
            return renamed
        called = parent if isinstance(parent, ast.Call) else None
        if called is not None:
            is_made = lift.is_class and called.func is use
            is_partial = last_name(called.func) == "partial" and called.args[:1] == [use]
            if is_made or is_partial:
                self._check_captures(lift, use)
                return [*renamed, self._more(called, filled)]
        is_type = called is not None and last_name(called.func) in ("isinstance", "issubclass", "super")
        if lift.is_class and (is_type or isinstance(parent, ast.ClassDef)):
            raise NotFixable(f"the class {use.id} is used as a type and captures local names")
        return [self.outline.edit(start, end, self._use(lift, use))]

    def _more(self, call: ast.Call, filled: list[tuple[str, str]]) -> Edit:
        """More keyword arguments for a call."""
        given = ", ".join(f"{name}={value}" for name, value in filled)
        arguments = [*call.args, *(k.value for k in call.keywords)]
        end = self.outline.end(call) - 1
        if not arguments:
            return self.outline.edit(end, end, given)
        if len(call.args) == 1 and isinstance(call.args[0], ast.GeneratorExp) and not call.keywords:
            raise NotFixable("a generator expression is its only argument")
        last = max(self.outline.end(a) for a in arguments)
        rest = self.text[last:end]
        if "#" in rest:
            raise NotFixable("a comment stands behind the last argument")
        place = last + len(rest.split(",")[0].rstrip()) if "," in rest else last + len(rest.rstrip())
        return self.outline.edit(place, place, f", {given}")

    def _use(self, lift: Lift, place: Any) -> str:
        """What stands for a definition where it is used."""
        filled = lift.filled_in()
        if not filled:
            return lift.name
        self._check_captures(lift, place)
        return self._partial(lift.name, filled)

    def _partial(self, name: str, filled: list[tuple[str, str]]) -> str:
        spelling, edits = self.document.with_import(
            "from functools import partial", self.outline.cst_top(self.document, self.top)
        )
        self.imports += edits
        return f"{spelling}({name}, {', '.join(f'{key}={value}' for key, value in filled)})"

    def _handed(self, lift: Lift, use: ast.Name) -> list[Edit]:
        """What a definition becomes in another one that moves: its captures are that one's too."""
        filled, parent = lift.filled_in(), self.outline.parents[use]
        is_called = isinstance(parent, ast.Call) and parent.func is use
        text = lift.name if is_called or not filled else self._partial(lift.name, filled)
        edits = [self.outline.edit(self.outline.start(use), self.outline.end(use), text)] if text != use.id else []
        if filled and isinstance(parent, ast.Call) and is_called:
            edits.append(self._more(parent, filled))
        return edits

    # captures

    def _check_captures(self, lift: Lift, place: Any) -> None:
        """A partial holds what a name means now, a closure what it means when it is called."""
        for name, owner in lift.captured.items():
            for binding in owner.bindings[name]:
                self._check_binding(name, binding, place)

    def _check_binding(self, name: str, binding: Binding, place: Any) -> None:
        if binding.kind == "parameter":
            return
        statement = binding.node
        own = self.outline.owner_from(name, self.outline.scope_of(place))
        if self.outline.start(statement) > self.outline.start(place):
            in_comprehension = any(
                isinstance(a, COMPREHENSIONS) and own and a is own.node for a in self.outline.ancestors(place)
            )
            if not (in_comprehension and self._is_consumed(place)):
                raise NotFixable(f"{name}, which it reads, is bound again later")
        for loop in self.outline.ancestors(place):
            if is_function(loop) or isinstance(loop, ast.ClassDef):
                break
            if not isinstance(loop, ast.For | ast.AsyncFor | ast.While):
                continue
            if loop.lineno <= self.crossing <= (loop.end_lineno or 0):
                continue  # each round hands its own over
            if any(item is loop for item in self.outline.ancestors(statement)) and not self._is_consumed(place):
                raise NotFixable(f"{name}, which it reads, is bound anew in each round of the loop")

    def _is_consumed(self, place: Any) -> bool:
        """Whether a value goes straight into a call that does more than to keep it."""
        parent = self.outline.parents[place]
        if isinstance(parent, ast.keyword):
            parent = self.outline.parents[parent]
        return isinstance(parent, ast.Call) and last_name(parent.func) not in MUTATORS

    # methods

    def _method_of_capture(self) -> tuple[ast.ClassDef, Any, str] | None:
        """The class, method and first parameter where the one thing that moves reads the object of a method."""
        for lift in self.lifts:
            for name, owner in lift.captured.items():
                if not self.is_receiver(name, owner):
                    continue
                method: Any = owner.node
                cls = self.outline.parents[method]
                decorators = {last_name(d) for d in method.decorator_list}
                is_single = len(self.lifts) == 1 and not lift.is_class
                is_at_top = isinstance(self.outline.parents[cls], ast.Module | ast.If)
                if not is_single or not is_at_top or not isinstance(cls, ast.ClassDef):
                    raise NotFixable(f"it reads {name} of the method around it")
                if "classmethod" in decorators:
                    raise NotFixable(f"it reads {name} of the class method around it")
                if self.is_direct and self._takes_attributes(lift, name, cls):
                    return None
                return cls, method, name
        return None

    def is_receiver(self, name: str, owner: Scope) -> bool:
        """Whether a name is the object or class whose method a scope is: its first parameter, never bound again."""
        return owner.is_function and receiver_name(owner) == name and len(owner.bindings[name]) == 1

    def _takes_attributes(self, lift: Lift, name: str, cls: ast.ClassDef) -> bool:
        """Where a task reads only some data of the object, it gets this data, not the object with all it has."""
        uses = [n for n in self.outline.names(lift.node) if n.id == name and not self.outline.is_header(n, lift.node)]
        methods = {item.name for item in cls.body if isinstance(item, DEFINITIONS)}
        found: dict[str, str] = {}
        for use in uses:
            attribute: Any = self.outline.parents[use]
            if not isinstance(attribute, ast.Attribute) or not isinstance(attribute.ctx, ast.Load):
                return False
            holder = self.outline.parents[attribute]
            if attribute.attr in methods or (isinstance(holder, ast.Call) and holder.func is attribute):
                return False
            found[attribute.attr] = attribute.attr.lstrip("_")
        taken = {n.id for n in self.outline.names(lift.node)} | set(lift.captured)
        taken |= {a.arg for a in ast.walk(lift.node) if isinstance(a, ast.arg)}
        if len(found) > 3 or any(p in taken or not p for p in found.values()) or len(set(found.values())) < len(found):
            return False
        if any(attribute.startswith("__") for attribute in found):
            return False
        del lift.captured[name]
        self.code.attributes = {name: found}
        lift.defaults.update({parameter: f"{name}.{attribute}" for attribute, parameter in found.items()})
        return True

    def _as_method(self, cls: ast.ClassDef, method: Any, own: str, what: str) -> Change:
        lift = self.main
        del lift.captured[own]
        is_lambda = isinstance(lift.node, ast.Lambda)
        wanted = self._names(lift)[0] if is_lambda else f"_{lift.node.name.lstrip('_')}"
        known = {item.name for item in cls.body if isinstance(item, DEFINITIONS)}
        known |= {part.attr for part in ast.walk(cls) if isinstance(part, ast.Attribute)}
        names = (wanted, *(f"{wanted}_{n}" for n in range(2, 99)))
        lift.name = next(n for n in names if n not in known and self.document.reserved(f"{cls.name}.{n}"))
        if is_lambda:
            lift.binding = None
            self.edits.append(
                self.outline.edit(*self.outline.with_parentheses(lift.node), self._bound(lift, lift.node, own))
            )
        else:
            self._move_uses(lift, own)
        text = self.code.definition(lift, first=own)
        newline, place = self.document.newline, self.outline.line_offset(method.end_lineno + 1)
        gap = newline if self.text[:place].endswith(("\n", "\r")) else newline * 2
        moved = self.outline.edit(place, place, gap + indented(text, self.outline.indent(method)))
        name = f"{cls.name}.{lift.name}"
        return Change((*self.imports, *self.edits, moved), False, what.format(name=name).replace("function", "method"))

    def _move_uses(self, lift: Lift, own: str) -> None:
        """A local function is taken out, and the method stands where it was used."""
        assert lift.binding is not None
        uses = [use for use in self.outline.references(lift.binding) if not self._is_in_lifts(use)]
        is_only = len(lift.binding.scope.bindings[lift.binding.name]) == 1
        if not is_only or (lift.filled_in() and not self._is_used_at_most_once(lift, uses)):
            raise NotFixable(f"it reads {own} and other local names, and is used more than once")
        self._remove(lift.node)
        for use in uses:
            text = self._bound(lift, use, own)
            self.edits.append(self.outline.edit(self.outline.start(use), self.outline.end(use), text))

    def _bound(self, lift: Lift, place: Any, own: str) -> str:
        filled = lift.filled_in()
        bound = f"{own}.{lift.name}"
        if not filled:
            return bound
        self._check_captures(lift, place)
        return self._partial(bound, filled)

    # places

    def _place(self) -> int:
        """Where the definitions go: before the statement that uses them, after what they need to be defined."""
        body = self.outline.tree.body
        index = body.index(self.top)
        needed = index
        moving = {lift.binding.name for lift in self.lifts if lift.binding is not None}
        for lift in self.lifts:
            for name in self._needed_to_define(lift):
                if name in moving:
                    continue
                bindings = self.outline.module.scope.bindings.get(name, ())
                bindings = [b for b in bindings if self.outline.statement(b.node) not in self.taken_out]
                tops = [body.index(self.outline.top(b.node)) for b in bindings if not b.scope.is_function]
                if tops and min(tops) >= needed:
                    needed = min(tops) + 1
        if needed > index:
            between = body[index:needed]
            harmless = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
            is_late = needed >= len(body) or not all(isinstance(statement, harmless) for statement in between)
            if is_late or not isinstance(self.top, DEFINITIONS):
                raise NotFixable("what it needs is defined too late")
        while needed > 1 and self._is_about(body[needed - 1], body[needed]):
            needed -= 1
        return self.outline.line_offset(self.outline.line_with_comments(body[needed]))

    def _is_about(self, text: ast.stmt, statement: ast.stmt) -> bool:
        """Whether a text stands right above a statement, as some write comments."""
        is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        return is_text and text.end_lineno == self.outline.line_with_comments(statement) - 1

    def _needed_to_define(self, lift: Lift) -> Iterator[str]:
        """The names of module level that are read when a definition is run."""
        future = [s for s in self.outline.tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        postponed = any(alias.name == "annotations" for statement in future for alias in statement.names)
        dropped = {part for value in lift.dropped for part in ast.walk(value)}
        for name in self.outline.names(lift.node):
            if name in dropped:
                continue
            child: ast.AST = name
            for parent in self.outline.ancestors(name):
                if is_function(parent) and not self.outline.is_header(child, parent):
                    break
                is_note = child in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
                if is_note and postponed:
                    break
                if parent is lift.node:
                    yield name.id
                    break
                child = parent

    def _inserted(self, definitions: list[str]) -> Iterator[Edit]:
        newline = self.document.newline
        place = self._place()
        before = self.text[:place]
        gap = newline * 2
        text = gap.join(definitions)
        blank = 0
        stripped = before.rstrip(" \t\f")
        while stripped.endswith(("\n", "\r")):
            stripped = stripped[: -2 if stripped.endswith("\r\n") else -1].rstrip(" \t\f")
            blank += 1
        missing = max(3 - blank, 0) if stripped.strip() and not stripped.rsplit("\n", 1)[-1].startswith("#!") else 0
        if any(edit.start == place for edit in self.imports):
            missing = 1
        if missing:  # an edit of its own, so that those who insert here as well can share it
            yield self.outline.edit(place, place, newline * missing)
        yield self.outline.edit(place, place, text + gap)

    def _remove(self, statement: Any) -> None:
        """A statement and its comments are taken out, with the blank lines that set it off."""
        outline = self.outline
        block = outline.block(statement)
        first = outline.line_with_comments(statement)
        start, end = outline.line_offset(first), self.document.line_after(outline.end(statement))
        remaining = [other for other in block if other is not statement and other not in self.taken_out]
        if not remaining:
            self.edits.append(outline.edit(start, end, f"{outline.indent(statement)}pass{self.document.newline}"))
            return
        before = block[: block.index(statement)]
        is_first = all(other in self.taken_out for other in before)
        is_first = is_first and not isinstance(outline.parents[statement], ast.Module)
        self.edits.append(outline.removed(first, statement.end_lineno, is_first=is_first, above=not before))

    def _without_inner(self, edits: list[Edit]) -> Iterator[Edit]:
        """The edits without those that fall inside what another one takes away."""
        for edit in dict.fromkeys(edits):
            length = edit.end - edit.start
            if not any(o.start <= edit.start and edit.end <= o.end and o.end - o.start > length for o in edits):
                yield edit
