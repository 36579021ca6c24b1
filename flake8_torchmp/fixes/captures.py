"""What a definition that moves reads of the scopes around it: captured names, local imports, other definitions."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from flake8_torchmp.semantics.nodes import DEFINITIONS, last_name
from flake8_torchmp.semantics.scopes import Binding, Scope

from .change import NotFixable
from .outline import Outline

LOOKING_AT_NAMES = frozenset("locals vars eval exec dir globals".split())
HARMLESS_DECORATORS = frozenset(
    "staticmethod classmethod property dataclass no_grad inference_mode wraps override overload total_ordering".split()
)


@dataclass(eq=False)
class Lift:
    """One definition on its way to module level."""

    node: Any
    """A lambda, or the statement that defines a function or class."""
    binding: Binding | None
    """The name by which it is used; none for a lambda that is used where it stands."""
    captured: dict[str, Scope] = field(default_factory=dict)
    """What it reads of the scopes around it, in the order of the text."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Parameters whose defaults are computed where it stands, with their code there."""
    imports: dict[int, str] = field(default_factory=dict)
    """Imports to be repeated inside, by the places where they stand."""
    needs: list[Lift] = field(default_factory=list)
    """The other local definitions that it reads."""
    name: str = ""
    dropped: list[ast.expr] = field(default_factory=list)
    """The defaults that go."""

    @property
    def binding_name(self) -> str:
        return self.binding.name if self.binding is not None else ""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def filled_in(self) -> list[tuple[str, str]]:
        """The keyword arguments that a use of it has to give."""
        return [*((name, name) for name in self.captured), *self.defaults.items()]


class Captures:
    """A definition and those that it needs, with what each of them captures."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.lifts: list[Lift] = []
        self.is_safe = True
        """Whether all of them do the same wherever and however often they are defined."""
        self.imports: dict[int, ast.Import | ast.ImportFrom] = {}
        """Imports under the main guard that have to stand outside of it, by their places."""

    def add(self, node: Any) -> Lift:
        for lift in self.lifts:
            if lift.node is node:
                return lift
        lift = Lift(node, self._binding_of(node))
        self.lifts.append(lift)
        self._refuse(node)
        self._look_at_header(lift)
        for name in self.outline.names(node):
            if self.outline.is_header(name, node):
                continue
            owner = self.outline.owner(name)
            if owner is None or self.outline.is_inside(owner, node):
                continue
            if not isinstance(name.ctx, ast.Load) and name.id not in self._declared_global(node):
                raise NotFixable(f"it rebinds {name.id} of the function around it")
            self._need(lift, name.id, owner)
        return lift

    def _binding_of(self, node: Any) -> Binding | None:
        if isinstance(node, ast.Lambda):
            statement = self.outline.parents[node]
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
            elif isinstance(statement, ast.AnnAssign):
                target = statement.target
            else:
                return None
            if not isinstance(target, ast.Name):
                return None
            name = target.id
            if self.outline.scope_of(statement).is_class:
                return None  # an attribute, which others may read by objects of the class
        else:
            statement, name = node, node.name
        owner = self.outline.owner_from(name, self.outline.scope_of(statement))
        bindings = owner.bindings[name] if owner is not None else []
        return next((b for b in bindings if self.outline.statement(b.node) is statement), None)

    def _refuse(self, node: Any) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Nonlocal):
                scope = self.outline.scope_of(part)
                if any(not self.outline.is_inside(self._owner_above(name, scope), node) for name in part.names):
                    raise NotFixable(f"it rebinds {', '.join(part.names)} of the function around it")
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in LOOKING_AT_NAMES:
                raise NotFixable(f"it calls {part.func.id}()")
            if isinstance(part, ast.Name) and part.id in ("__class__", "super"):
                inner = next((a for a in self.outline.ancestors(part) if isinstance(a, ast.ClassDef)), None)
                if inner is None or not (inner is node or any(inner is item for item in ast.walk(node))):
                    raise NotFixable("it calls super() of the class around it")

    def _owner_above(self, name: str, scope: Scope) -> Scope | None:
        return self.outline.owner_from(name, scope.parent) if scope.parent is not None else None

    def _declared_global(self, node: Any) -> set[str]:
        return {name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names}

    def _look_at_header(self, lift: Lift) -> None:
        """Defaults that are computed from what is local are filled in by the uses; the rest of a header cannot be."""
        node = lift.node
        arguments = getattr(node, "args", None)
        defaults: list[Any] = []
        if arguments is not None:
            positional = [*arguments.posonlyargs, *arguments.args]
            with_default = positional[len(positional) - len(arguments.defaults) :]
            pairs = [*zip(with_default, arguments.defaults, strict=True)]
            keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            pairs += [(parameter, value) for parameter, value in keywords if value is not None]
            for parameter, value in pairs:
                defaults.append(value)
                if not self._stays_the_same(value):
                    lift.defaults[parameter.arg] = self.outline.code(value)
                    lift.dropped.append(value)
        for name in self.outline.names(node):
            if not self.outline.is_header(name, node) or any(name in ast.walk(value) for value in defaults):
                continue
            owner = self.outline.owner_from(name.id, self.outline.scope_of(node))
            if owner is None or (owner.is_module and not self._is_guarded(name.id, node)):
                continue
            self._need(lift, name.id, owner, is_header=True)
        decorators = getattr(node, "decorator_list", ())
        if any(last_name(d.func if isinstance(d, ast.Call) else d) not in HARMLESS_DECORATORS for d in decorators):
            self.is_safe = False

    def _stays_the_same(self, value: ast.expr) -> bool:
        """Whether a default means the same at module level, before the statement that holds it."""
        if isinstance(value, ast.Constant) or (
            isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant)
        ):
            return True
        if isinstance(value, ast.Tuple):
            return all(self._stays_the_same(element) for element in value.elts)
        root: ast.expr = value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        owner = self.outline.owner(root)
        if owner is None:
            return True
        if not owner.is_module or self._is_guarded(root.id, value):
            return False
        bindings = owner.bindings[root.id]
        return len(bindings) == 1 and bindings[0].kind in ("import", "from", "def", "class", "assign")

    def _need(self, lift: Lift, name: str, owner: Scope, *, is_header: bool = False) -> None:
        if owner.is_module and not self._is_guarded(name, lift.node):
            return
        bindings = owner.bindings.get(name, [])
        only = bindings[0] if len(bindings) == 1 else None
        if only is not None and isinstance(only.node, ast.alias):
            if is_header or lift.is_class:
                self._need_outside(name, only.node)
                return
            lift.imports[self.outline.start(only.node)] = self._import_text(only.node)
        elif only is not None and isinstance(only.node, DEFINITIONS):
            if only.node is not lift.node:
                needed = self.add(only.node)
                if needed not in lift.needs:
                    lift.needs.append(needed)
                if is_header and needed.filled_in():
                    raise NotFixable(f"its header needs {name}, which captures local names")
        elif only is not None and isinstance(only.value, ast.Lambda) and only.kind == "assign" and not is_header:
            if only.value is not lift.node:
                needed = self.add(only.value)
                if needed not in lift.needs:
                    lift.needs.append(needed)
        elif is_header:
            raise NotFixable(f"its header needs {name}, which is local")
        else:
            lift.captured.setdefault(name, owner)

    def _need_outside(self, name: str, alias: ast.alias) -> None:
        """An import of the main guard that can as well stand before it: it comes after nothing but imports."""
        statement: Any = self.outline.parents[alias]
        guard: Any = self.outline.parents[statement]
        is_in_guard = isinstance(guard, ast.If) and self.outline.is_guarded(statement) and statement in guard.body
        before = guard.body[: guard.body.index(statement)] if is_in_guard else []
        is_first = all(isinstance(other, (*DEFINITIONS, ast.Import, ast.ImportFrom)) for other in before)
        if not is_in_guard or not is_first or not self.outline.alone_on_its_lines(statement):
            raise NotFixable(f"it needs the local import of {name}")
        self.imports[self.outline.start(statement)] = statement
        self.is_safe = False

    def _is_guarded(self, name: str, node: ast.AST) -> bool:
        """Whether a name of module level is bound in the main process alone."""
        bindings = self.outline.module.scope.bindings.get(name, [])
        return (
            bool(bindings)
            and self.outline.is_guarded(node)
            and all(self.outline.is_guarded(self.outline.statement(b.node)) for b in bindings)
        )

    def _import_text(self, alias: ast.alias) -> str:
        statement: Any = self.outline.parents[alias]
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(statement, ast.ImportFrom):
            return f"from {'.' * statement.level}{statement.module or ''} import {alias.name}{renamed}"
        return f"import {alias.name}{renamed}"

    def complete(self) -> None:
        """What a needed definition captures, those that need it must have as well."""
        changed = True
        while changed:
            changed = False
            for lift in self.lifts:
                for needed in lift.needs:
                    for name, owner in needed.captured.items():
                        if name not in lift.captured and not self.outline.is_inside(owner, lift.node):
                            lift.captured[name] = owner
                            changed = True
                    if needed.defaults and needed is not lift:
                        raise NotFixable(
                            f"it needs {needed.name or 'a lambda'} whose defaults are computed where it stands"
                        )

        for lift in self.lifts:
            lift.captured = dict(sorted(lift.captured.items(), key=self._bound_at))
            if lift.filled_in() or _keeps_state(lift):
                self.is_safe = False

    def _bound_at(self, captured: tuple[str, Scope]) -> int:
        name, owner = captured
        return min(self.outline.start(binding.node) for binding in owner.bindings[name])


def _keeps_state(lift: Lift) -> bool:
    """Whether each making of a class begins with state of its own."""
    return lift.is_class and any(
        isinstance(statement, ast.Assign | ast.AnnAssign)
        and isinstance(statement.value, ast.List | ast.Dict | ast.Set | ast.Call)
        for statement in lift.node.body
    )
