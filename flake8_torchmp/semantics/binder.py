"""The walk over a module that finds its scopes, bindings, calls, changes and classes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .nodes import COMPREHENSIONS, fields, last_name, root_name, up
from .scopes import Binding, Change, Scope

if TYPE_CHECKING:
    from .module import Module

MUTATORS = frozenset(
    "add append appendleft clear difference_update discard extend extendleft fill insert intersection_update "
    "itemset load_state_dict merge_from_file merge_from_list move_to_end partition pop popitem popleft put remove "
    "reverse rotate set_transform setdefault setflags sort symmetric_difference_update update "
    "register_forward_hook register_forward_pre_hook register_full_backward_hook".split()
)
"""Methods that change their object in place. A single trailing underscore (`zero_`) says the same."""

OF_A_CALL = "()"
"""The root of what a call gives, which has no name: `current().settings.size = 3`."""

ADDING = frozenset(
    "add append appendleft extend extendleft insert put set_transform setdefault update "
    "register_forward_hook register_forward_pre_hook register_full_backward_hook".split()
)
"""Those of them that put an argument into it."""


class Binder:
    """Visits every node once. Bodies of functions come after everything at their level is bound: order is by name."""

    def __init__(self, module: Module) -> None:
        self.module = module
        module.scopes[module.tree] = module.scope
        self.stack: list[tuple[ast.AST, Scope]] = []

    def run(self) -> None:
        stack = self.stack
        self._push(self.module.tree, self.module.tree.body, self.module.scope)
        handlers = _HANDLERS
        nodes = self.module.nodes
        while stack:
            node, scope = stack.pop()
            nodes.append(node)
            node._torchmp_scope = scope  # type: ignore[attr-defined]
            handler = handlers.get(node.__class__)
            if handler is None:
                self._push_children(node, scope)
            else:
                handler(self, node, scope)

    def _push_children(self, node: Any, scope: Scope) -> None:
        stack = self.stack
        for field in _backwards(node.__class__):
            value = getattr(node, field, None)
            if value is None:
                continue
            if value.__class__ is list:
                for item in reversed(value):
                    if isinstance(item, ast.AST):
                        item._torchmp_up = node  # type: ignore[attr-defined]
                        stack.append((item, scope))
            else:
                value._torchmp_up = node
                stack.append((value, scope))

    def _push(self, parent: ast.AST, nodes: Any, scope: Scope) -> None:
        for node in reversed(nodes):
            if node is not None:
                node._torchmp_up = parent
                self.stack.append((node, scope))

    def _hold(self, part: ast.AST, node: ast.AST) -> None:
        """A part that the walk does not stop at."""
        part._torchmp_up = node  # type: ignore[attr-defined]
        self.module.nodes.append(part)

    # scopes

    def function(self, node: Any, scope: Scope) -> None:
        self.module.functions.append(node)
        inner = self.module.scopes[node] = Scope(node, scope, self.module)
        if not isinstance(node, ast.Lambda):
            self._bind(scope, node.name, "def", node, None)
        arguments = node.args
        self._hold(arguments, node)
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
        for parameter in parameters:
            parameter._torchmp_up = arguments
            inner.bind(Binding(parameter.arg, "parameter", parameter, None, inner))
        if isinstance(node, ast.Lambda):
            self._push(node, [node.body], inner)
        else:
            self._push(node, node.body, inner)
            self._decorated(node)
            self._push(node, node.decorator_list, scope)
        self._push(arguments, [*arguments.defaults, *arguments.kw_defaults], scope)

    def klass(self, node: Any, scope: Scope) -> None:
        self.module.classes.append(node)
        inner = self.module.scopes[node] = Scope(node, scope, self.module)
        self._bind(scope, node.name, "class", node, None)
        self._push(node, node.body, inner)
        self._decorated(node)
        self._push(node, [*node.decorator_list, *node.bases, *node.keywords], scope)

    def _decorated(self, node: Any) -> None:
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            self.module.decorators[last_name(called)].append((decorator, node))

    def comprehension(self, node: Any, scope: Scope) -> None:
        inner = self.module.scopes[node] = Scope(node, scope, self.module)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._push(node, parts, inner)
        for index, generator in reversed(list(enumerate(node.generators))):
            self._hold(generator, node)
            self._push(generator, generator.ifs, inner)
            self._push(generator, [generator.iter], scope if index == 0 else inner)
            generator.target._torchmp_up = generator
            self._bind_target(inner, generator.target, "for", generator.iter)

    # bindings

    def _bind(
        self, scope: Scope, name: str, kind: str, node: ast.AST, value: ast.expr | None, path: tuple[int, ...] = ()
    ) -> None:
        if name in scope.global_names:
            scope = self.module.scope
        elif name in scope.nonlocal_names:
            outer = scope.parent
            while outer is not None and not (outer.is_function and name in outer.bindings):
                outer = outer.parent
            scope = outer or scope
        elif kind == "walrus":
            while scope.parent is not None and isinstance(scope.node, COMPREHENSIONS):
                scope = scope.parent
        scope.bind(Binding(name, kind, node, value, scope, path))

    def _bind_target(
        self, scope: Scope, target: Any, kind: str, value: ast.expr | None, path: tuple[int, ...] = ()
    ) -> None:
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, "unpack" if path and kind == "assign" else kind, target, value, path)
        elif isinstance(target, ast.Tuple | ast.List):
            self.module.nodes.append(target)
            starred = False
            for index, element in enumerate(target.elts):
                element._torchmp_up = target  # type: ignore[attr-defined]
                starred = starred or isinstance(element, ast.Starred)
                inner: Any = element.value if isinstance(element, ast.Starred) else element
                inner._torchmp_up = target
                self._bind_target(scope, inner, kind, value, (*path, -1 if starred else index))
        elif (
            isinstance(target, ast.Attribute | ast.Subscript) and kind == "assign" and path and written_out(value, path)
        ):
            self._bind_target(scope, target, kind, written_out(value, path))
        elif isinstance(target, ast.Attribute):
            self._change("attribute", target.value, target, target.attr, value, path)
            self._push(target, [target.value], scope)
        elif isinstance(target, ast.Subscript):
            owner = _owner_of_state(target.value)
            if owner is not None and isinstance(target.slice, ast.Constant):
                self._change("attribute", owner, target, str(target.slice.value), value, path)
            else:
                self._change("item", target.value, target, "", value, path)
            self._push(target, [target.value, target.slice], scope)
        elif isinstance(target, ast.Starred):
            self._bind_target(scope, target.value, kind, value, (*path, -1))

    def _change(
        self,
        kind: str,
        target: ast.expr,
        node: ast.AST,
        name: str,
        value: ast.expr | None,
        path: tuple[int, ...] = (),
    ) -> None:
        is_held = kind == "attribute" and isinstance(target, ast.Attribute)
        root = root_name(target) or (OF_A_CALL if is_held else "")
        if root:
            self.module.changes[root].append(Change(kind, target, node, name, value, path))

    def assign(self, node: ast.Assign, scope: Scope) -> None:
        self._push(node, [node.value], scope)
        for target in node.targets:
            target._torchmp_up = node  # type: ignore[attr-defined]
            self._bind_target(scope, target, "assign", node.value)

    def annotated(self, node: Any, scope: Scope) -> None:
        node.target._torchmp_up = node
        if node.value is not None:
            self._push(node, [node.value], scope)
            self._bind_target(scope, node.target, "assign", node.value)
        elif isinstance(node.target, ast.Name) and scope.is_class:
            scope.bind(Binding(node.target.id, "declared", node.target, None, scope))
        self._push(node, [node.annotation], scope)

    def augmented(self, node: Any, scope: Scope) -> None:
        target = node.target
        target._torchmp_up = node
        self._push(node, [node.value], scope)
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, "augmented", target, node.value)
            self._change("augmented", target, node, "", node.value)
        elif isinstance(target, ast.Attribute):
            self._change("attribute", target.value, target, target.attr, None)
            self._change("augmented", target, node, "", node.value)
            self._push(target, [target.value], scope)
        else:
            self._change("item", target.value, target, "", None)
            self._push(target, [target.value, target.slice], scope)

    def loop(self, node: Any, scope: Scope) -> None:
        node.target._torchmp_up = node
        self._push(node, [*node.body, *node.orelse], scope)
        self._push(node, [node.iter], scope)
        self._bind_target(scope, node.target, "for", node.iter)

    def with_(self, node: Any, scope: Scope) -> None:
        self._push(node, node.body, scope)
        for item in reversed(node.items):
            self._hold(item, node)
            self._push(item, [item.context_expr], scope)
        for item in node.items:
            if item.optional_vars is not None:
                item.optional_vars._torchmp_up = item
                self._bind_target(scope, item.optional_vars, "with", item.context_expr)

    def walrus(self, node: Any, scope: Scope) -> None:
        node.target._torchmp_up = node
        self._push(node, [node.value], scope)
        self._bind(scope, node.target.id, "walrus", node.target, node.value)

    def handler(self, node: Any, scope: Scope) -> None:
        if node.name:
            self._bind(scope, node.name, "except", node, None)
        self._push_children(node, scope)

    def delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript | ast.Attribute):
                self._change("delete", target.value, node, getattr(target, "attr", ""), None)
        self._push_children(node, scope)

    def import_(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            alias._torchmp_up = node  # type: ignore[attr-defined]
            self._bind(scope, alias.asname or alias.name.partition(".")[0], "import", alias, None)

    def import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            alias._torchmp_up = node  # type: ignore[attr-defined]
            if alias.name == "*":
                scope.star_imports.append(node)
            else:
                self._bind(scope, alias.asname or alias.name, "from", alias, None)

    def global_(self, node: ast.Global, scope: Scope) -> None:
        scope.global_names.update(node.names)

    def nonlocal_(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.nonlocal_names.update(node.names)

    def match_capture(self, node: Any, scope: Scope) -> None:
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            case: Any = up(node)
            match: Any = up(case) if isinstance(case, ast.match_case) else None
            subject = match.subject if match is not None else None
            self._bind(scope, name, "match", node, subject)
        self._push_children(node, scope)

    # what else rules ask for

    def call(self, node: ast.Call, scope: Scope) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            self.module.calls[function.id].append(node)
            if function.id == "setattr" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
                self._change("attribute", node.args[0], node, str(node.args[1].value), node.args[2])
        elif isinstance(function, ast.Attribute):
            name = function.attr
            self.module.calls[name].append(node)
            if name == "__setattr__" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
                self._change("attribute", node.args[0], node, str(node.args[1].value), node.args[2])
            if name in MUTATORS or (name.endswith("_") and not name.endswith("__")):
                owner = _owner_of_state(function.value) if isinstance(function.value, ast.Call) else None
                self._change("method", owner or function.value, node, name, node.args[-1] if node.args else None)
        else:
            self.module.calls[last_name(function)].append(node)
        self._push_children(node, scope)

    def return_(self, node: ast.Return, scope: Scope) -> None:
        scope.returns.append(node)
        self._push_children(node, scope)

    def yield_(self, node: ast.AST, scope: Scope) -> None:
        function = scope.enclosing_function()
        if function is not None:
            function.is_generator = True
        self._push_children(node, scope)

    def name(self, node: ast.Name, _scope: Scope) -> None:
        if node.ctx.__class__ is ast.Load:
            self.module.read[node.id].append(node)

    def attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if node.ctx.__class__ is ast.Load:
            self.module.read[node.attr].append(node)
        node.value._torchmp_up = node  # type: ignore[attr-defined]
        self.stack.append((node.value, scope))

    def leaf(self, node: ast.AST, scope: Scope) -> None:
        pass


def _owner_of_state(node: ast.expr) -> ast.expr | None:
    """The object whose attributes an expression is as a dict: of `vars(x)` and `x.__dict__`."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    is_vars = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars"
    return node.args[0] if is_vars and len(node.args) == 1 else None  # type: ignore[attr-defined]


_BACKWARDS: dict[type, tuple[str, ...]] = {}


def written_out(value: ast.expr | None, path: tuple[int, ...]) -> ast.expr | None:
    """`b` of `self.x, self.y = a, b`, if it is written out."""
    for index in path:
        if not isinstance(value, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in value.elts):
            return None
        value = value.elts[index] if 0 <= index < len(value.elts) else None
    return value


def _backwards(kind: type) -> tuple[str, ...]:
    known = _BACKWARDS.get(kind)
    if known is None:
        known = _BACKWARDS[kind] = tuple(reversed(fields(kind)))
    return known


_HANDLERS: dict[type, Any] = {
    ast.FunctionDef: Binder.function,
    ast.AsyncFunctionDef: Binder.function,
    ast.Lambda: Binder.function,
    ast.ClassDef: Binder.klass,
    ast.ListComp: Binder.comprehension,
    ast.SetComp: Binder.comprehension,
    ast.DictComp: Binder.comprehension,
    ast.GeneratorExp: Binder.comprehension,
    ast.Assign: Binder.assign,
    ast.AnnAssign: Binder.annotated,
    ast.AugAssign: Binder.augmented,
    ast.For: Binder.loop,
    ast.AsyncFor: Binder.loop,
    ast.With: Binder.with_,
    ast.AsyncWith: Binder.with_,
    ast.NamedExpr: Binder.walrus,
    ast.ExceptHandler: Binder.handler,
    ast.Delete: Binder.delete,
    ast.Import: Binder.import_,
    ast.ImportFrom: Binder.import_from,
    ast.Global: Binder.global_,
    ast.Nonlocal: Binder.nonlocal_,
    ast.Call: Binder.call,
    ast.Return: Binder.return_,
    ast.Yield: Binder.yield_,
    ast.YieldFrom: Binder.yield_,
    ast.Name: Binder.name,
    ast.Attribute: Binder.attribute,
    ast.Constant: Binder.leaf,
    ast.Pass: Binder.leaf,
    ast.Break: Binder.leaf,
    ast.Continue: Binder.leaf,
    ast.MatchAs: Binder.match_capture,
    ast.MatchStar: Binder.match_capture,
    ast.MatchMapping: Binder.match_capture,
}
