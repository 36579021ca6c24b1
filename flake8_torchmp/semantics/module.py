"""One module: a single walk over its tree collects scopes, bindings, calls, changes and classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from flake8_torchmp import source

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ScopeNode = ast.Module | FunctionNode | ast.ClassDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

Place = tuple[str, int, int]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

MUTATORS = frozenset(
    "add append appendleft clear difference_update discard extend extendleft fill insert intersection_update "
    "itemset load_state_dict merge_from_file merge_from_list move_to_end partition pop popitem popleft put remove "
    "reverse rotate set_transform setdefault setflags sort symmetric_difference_update update".split()
)
"""Methods that change their object in place. A single trailing underscore (`zero_`) says the same."""

ADDING = frozenset("add append appendleft extend extendleft insert put set_transform setdefault update".split())
"""Those of them that put an argument into it."""


class Binding(NamedTuple):
    """One place where a name gets a value."""

    name: str
    kind: str
    """assign, unpack, augmented, for, with, import, from, def, class, parameter, except, walrus, delete, match"""
    node: ast.AST
    """The name's own node, or the definition or alias that binds it."""
    value: ast.expr | None
    scope: Scope
    path: tuple[int, ...] = ()
    """For unpacked targets: the positions that lead from the value to this name; -1 where a star hides it."""


class Change(NamedTuple):
    """One place where an object is changed through a name: `x.append(1)`, `x[k] = v`, `x.a = v`, `x += [1]`."""

    kind: str
    """method, item, attribute, augmented, delete, argument"""
    target: ast.expr
    """The expression that is changed: `x`, or `x.a` of `x.a.append(1)`."""
    node: ast.AST
    name: str
    """The method or attribute, if any."""
    value: ast.expr | None
    path: tuple[int, ...] = ()
    """As in a binding: where in the value it stands, for unpacked targets."""


class Scope:
    __slots__ = (
        "bindings",
        "global_names",
        "is_class",
        "is_function",
        "is_generator",
        "is_module",
        "module",
        "node",
        "nonlocal_names",
        "parent",
        "returns",
        "star_imports",
    )

    def __init__(self, node: ScopeNode, parent: Scope | None, module: Module) -> None:
        self.node = node
        self.parent = parent
        self.module = module
        self.is_module = parent is None
        self.is_function = isinstance(node, FUNCTIONS)
        self.is_class = isinstance(node, ast.ClassDef)
        self.bindings: dict[str, list[Binding]] = {}
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.returns: list[ast.Return] = []
        self.is_generator = False
        self.star_imports: list[ast.ImportFrom] = []

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>" if isinstance(self.node, ast.Lambda) else "")

    @property
    def place(self) -> Place:
        """Tells a function or class from all others of a project, also after its module was read anew."""
        return (self.module.path, *position(self.node))

    def enclosing_function(self) -> Scope | None:
        """The function whose body this scope is part of, itself included; None at module level."""
        scope: Scope | None = self
        while scope is not None and not scope.is_function:
            scope = scope.parent
        return scope

    def enclosing_class(self) -> Scope | None:
        """The class that a function of this scope is a method of."""
        scope: Scope | None = self
        while scope is not None:
            if scope.is_function and scope.parent is not None and scope.parent.is_class:
                return scope.parent
            scope = scope.parent
        return None

    def bind(self, binding: Binding) -> None:
        self.bindings.setdefault(binding.name, []).append(binding)

    def __repr__(self) -> str:
        return f"<Scope {self.name or type(self.node).__name__} of {self.module.name}>"


class Module:
    def __init__(self, path: str, name: str, tree: ast.Module, data: bytes, is_package: bool = False) -> None:
        self.path = path
        self.name = name
        self.tree = tree
        self.data = data
        self.is_package = is_package
        self.scopes: dict[ast.AST, Scope] = {}
        self.calls: defaultdict[str, list[ast.Call]] = defaultdict(list)
        """By the last name of what is called: `a.b.c()` and `c()` are both at "c"."""
        self.changes: defaultdict[str, list[Change]] = defaultdict(list)
        """By the first name of what is changed: `self.a.append(1)` is at "self"."""
        self.decorators: defaultdict[str, list[tuple[ast.expr, ast.AST]]] = defaultdict(list)
        """The decorators with what they decorate, by their last name."""
        self.classes: list[ast.ClassDef] = []
        self.functions: list[FunctionNode] = []
        self.scope = Scope(tree, None, self)
        self._lines: list[str] | None = None
        self.read: defaultdict[str, list[ast.expr]] = defaultdict(list)
        """The names and attributes that are read, by their last name, as the walk comes by."""
        self._names: defaultdict[str, dict[str, None]] | None = None
        self.memo: dict[tuple[object, ...], Any] = {}
        """Answers that depend on this module's tree alone."""
        _Walk(self).run()

    @property
    def lines(self) -> list[str]:
        if self._lines is None:
            self._lines = source.lines_of(source.decode(self.data))
        return self._lines

    def names_of(self, name: str) -> list[str]:
        """A name and the other names under which the module imports or keeps what it stands for."""
        if self._names is None:
            self._names = defaultdict(dict)
            for scope in self.scopes.values():
                for other, bindings in scope.bindings.items():
                    for binding in bindings:
                        meant = _stands_for(binding)
                        if meant and meant != other:
                            self._names[meant][other] = None
        return [name, *self._names.get(name, ())]

    def all_names_of(self, names: frozenset[str]) -> frozenset[str]:
        """Some names and all other names under which the module imports or keeps what they stand for."""
        key = ("all names", names)
        known: frozenset[str] | None = self.memo.get(key)
        if known is None:
            known = self.memo[key] = names.union(*(self.names_of(name) for name in names))
        return known

    def reference(self, definition: Any) -> ast.expr:
        """A name that stands for a function or class right behind its definition."""
        known: ast.expr | None = getattr(definition, "_torchmp_reference", None)
        if known is None:
            line, column = definition.end_lineno, definition.end_col_offset
            known = ast.Name(definition.name, ast.Load(), lineno=line, col_offset=column)
            known._torchmp_up = definition  # type: ignore[attr-defined]
            known._torchmp_scope = self.scope_of(definition)  # type: ignore[attr-defined]
            definition._torchmp_reference = known
        return known

    def loads(self, name: str) -> list[ast.expr]:
        """Where a name or attribute is read, in source order; annotations of parameters aside."""
        return sorted(self.read.get(name, ()), key=position)

    def calls_of(self, name: str) -> list[ast.Call]:
        """The calls of something by its name or another name for it."""
        return [call for known in self.names_of(name) for call in self.calls.get(known, ())]

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which an expression or statement is evaluated; for a definition, where it is bound."""
        try:
            return node._torchmp_scope  # type: ignore[attr-defined,no-any-return]
        except AttributeError:  # a part that the walk does not stop at
            known = node._torchmp_scope = self._find_scope(node)  # type: ignore[attr-defined]
            return known

    def _find_scope(self, node: ast.AST) -> Scope:
        child, parent = node, up(node)
        while parent is not None:
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                if not _is_header(parent, child):
                    return self.scopes[parent]
            elif isinstance(parent, ast.comprehension):
                comprehension: Any = up(parent)
                if comprehension.generators[0] is parent and child is parent.iter:
                    parent = comprehension  # evaluated outside
            elif isinstance(parent, COMPREHENSIONS):
                return self.scopes[parent]
            child, parent = parent, up(parent)
        return self.scope

    def __repr__(self) -> str:
        return f"<Module {self.name}>"


def _stands_for(binding: Binding) -> str:
    """The name of which a binding makes another name."""
    if binding.kind == "from":
        return getattr(binding.node, "name", "")
    return last_name(binding.value) if binding.kind == "assign" and binding.value is not None else ""


def _is_header(definition: ast.AST, child: ast.AST) -> bool:
    """Whether a part of a definition is evaluated where the definition stands, not inside."""
    if isinstance(definition, ast.Lambda):
        return child is definition.args
    return not isinstance(child, ast.stmt)


def up(node: ast.AST) -> ast.AST | None:
    """The node that holds this one."""
    return getattr(node, "_torchmp_up", None)


def ancestors(node: ast.AST) -> Iterator[ast.AST]:
    parent = up(node)
    while parent is not None:
        yield parent
        parent = up(parent)


def statement_of(node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        parent = up(node)
        assert parent is not None
        node = parent
    return node


def position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def root_name(node: ast.expr) -> str:
    """`a` of `a`, `a.b` and `a[0].b`, or nothing."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """`a.b.c` of such an expression, or nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c` and of `c`, whatever stands before it."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def mentions(node: ast.AST, names: Collection[str]) -> bool:
    """Whether one of some variables stands in a node."""
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def listed_constants(node: ast.AST) -> list[object] | None:
    """What `("train", "val")` lists; None where a tuple, list or set holds anything else, or nothing."""
    elements = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
    known: list[object] = [element.value for element in elements if isinstance(element, ast.Constant)]
    return known if known and len(known) == len(elements) else None


def body_nodes(function: ScopeNode, *, nested: bool = True) -> list[ast.AST]:
    """The nodes of a function's body in source order, with or without the functions and classes inside it."""
    name = "_torchmp_nested" if nested else "_torchmp_body"
    known: list[ast.AST] | None = getattr(function, name, None)
    if known is None:
        known = list(_walk_body(function, nested))
        setattr(function, name, known)
    return known


def _walk_body(function: ScopeNode, nested: bool) -> Iterator[ast.AST]:
    body: Any = getattr(function, "body", [])
    stack: list[ast.AST] = list(reversed(body)) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind in _UNINTERESTING:
            continue
        yield node
        if nested or kind not in _DEFINING:
            parts = children(node)
            parts.reverse()
            stack += parts


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that matter, in source order: no contexts, operators or identifiers."""
    found: list[ast.AST] = []
    for field in _fields(node.__class__):
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):  # `conversion` of an f-string's part is a number
            found.append(value)
    return found


_DEFINING = frozenset((*FUNCTIONS, ast.ClassDef))
_UNINTERESTING = frozenset((ast.Constant, ast.Pass, ast.Break, ast.Continue))


class _Walk:
    """Visits every node once. Bodies of functions come after everything at their level is bound: order is by name."""

    def __init__(self, module: Module) -> None:
        self.module = module
        module.scopes[module.tree] = module.scope
        self.stack: list[tuple[ast.AST, Scope]] = []

    def run(self) -> None:
        stack = self.stack
        self._push(self.module.tree, self.module.tree.body, self.module.scope)
        handlers = _HANDLERS
        while stack:
            node, scope = stack.pop()
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

    # scopes

    def function(self, node: Any, scope: Scope) -> None:
        self.module.functions.append(node)
        inner = self.module.scopes[node] = Scope(node, scope, self.module)
        if not isinstance(node, ast.Lambda):
            self._bind(scope, node.name, "def", node, None)
        arguments = node.args
        arguments._torchmp_up = node
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
            generator._torchmp_up = node
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
            starred = False
            for index, element in enumerate(target.elts):
                element._torchmp_up = target  # type: ignore[attr-defined]
                starred = starred or isinstance(element, ast.Starred)
                inner: Any = element.value if isinstance(element, ast.Starred) else element
                inner._torchmp_up = target
                self._bind_target(scope, inner, kind, value, (*path, -1 if starred else index))
        elif isinstance(target, ast.Attribute):
            self._change("attribute", target.value, target, target.attr, value, path)
            self._push(target, [target.value], scope)
        elif isinstance(target, ast.Subscript):
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
        root = root_name(target)
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
            item._torchmp_up = node
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
            self._bind(scope, name, "match", node, None)
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
            if name in MUTATORS or (name.endswith("_") and not name.endswith("__")):
                self._change("method", function.value, node, name, node.args[-1] if node.args else None)
        else:
            self.module.calls[""].append(node)
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


_FIELD_CACHE: dict[type, tuple[str, ...]] = {}
_SKIPPED_FIELDS = frozenset(
    "ctx op ops id attr arg name asname kind type_comment conversion is_async level module".split()
)


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a node type that can hold nodes which matter: no contexts, operators or identifiers."""
    fields = _FIELD_CACHE.get(kind)
    if fields is None:
        names: tuple[str, ...] = getattr(kind, "_fields", ())
        keep = [name for name in names if name not in _SKIPPED_FIELDS]
        if kind in (ast.MatchSingleton, ast.Constant, ast.TypeIgnore, ast.Global, ast.Nonlocal):
            keep = []
        elif kind is ast.MatchClass:
            keep = ["cls", "patterns", "kwd_patterns"]
        elif kind is ast.MatchMapping:
            keep = ["keys", "patterns"]
        fields = _FIELD_CACHE[kind] = tuple(keep)
    return fields


_BACKWARDS: dict[type, tuple[str, ...]] = {}


def _backwards(kind: type) -> tuple[str, ...]:
    known = _BACKWARDS.get(kind)
    if known is None:
        known = _BACKWARDS[kind] = tuple(reversed(_fields(kind)))
    return known


_HANDLERS: dict[type, Any] = {
    ast.FunctionDef: _Walk.function,
    ast.AsyncFunctionDef: _Walk.function,
    ast.Lambda: _Walk.function,
    ast.ClassDef: _Walk.klass,
    ast.ListComp: _Walk.comprehension,
    ast.SetComp: _Walk.comprehension,
    ast.DictComp: _Walk.comprehension,
    ast.GeneratorExp: _Walk.comprehension,
    ast.Assign: _Walk.assign,
    ast.AnnAssign: _Walk.annotated,
    ast.AugAssign: _Walk.augmented,
    ast.For: _Walk.loop,
    ast.AsyncFor: _Walk.loop,
    ast.With: _Walk.with_,
    ast.AsyncWith: _Walk.with_,
    ast.NamedExpr: _Walk.walrus,
    ast.ExceptHandler: _Walk.handler,
    ast.Delete: _Walk.delete,
    ast.Import: _Walk.import_,
    ast.ImportFrom: _Walk.import_from,
    ast.Global: _Walk.global_,
    ast.Nonlocal: _Walk.nonlocal_,
    ast.Call: _Walk.call,
    ast.Return: _Walk.return_,
    ast.Yield: _Walk.yield_,
    ast.YieldFrom: _Walk.yield_,
    ast.Name: _Walk.name,
    ast.Attribute: _Walk.attribute,
    ast.Constant: _Walk.leaf,
    ast.Pass: _Walk.leaf,
    ast.Break: _Walk.leaf,
    ast.Continue: _Walk.leaf,
    ast.MatchAs: _Walk.match_capture,
    ast.MatchStar: _Walk.match_capture,
    ast.MatchMapping: _Walk.match_capture,
}
