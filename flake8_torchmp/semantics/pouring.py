"""What goes from one dict to another, entry by entry, and what only fills up what is missing there."""

from __future__ import annotations

import ast

from .flow import Condition, facts_at
from .module import Module
from .narrowing import truth_where
from .nodes import dotted, statement_of
from .scopes import Binding, Change
from .values import Extra


def poured(change: Change, key: ast.expr, value: ast.expr, module: Module) -> ast.expr | None:
    """The dict whose entries a loop puts into another one: `for key, value in these.items(): those[key] = value`."""
    loop = _loop_of(key, module)
    if loop is None or loop.value is None:
        return None
    over, is_called = loop.value, isinstance(loop.value, ast.Call)
    if isinstance(over, ast.Call):
        asked = dotted(over.func).rpartition(".")[2]
        if not isinstance(over.func, ast.Attribute) or over.args or asked not in ("items", "keys"):
            return None
        over, is_called = over.func.value, asked == "items"
    if is_called:
        other = _loop_of(value, module)
        is_entry = loop.path == (0,) and other is not None and other.value is loop.value and other.path == (1,)
    else:
        is_looked_up = isinstance(value, ast.Subscript) and dotted(value.value) == dotted(over) != ""
        is_entry = loop.path == () and is_looked_up and dotted(value.slice) == dotted(key)  # type: ignore[attr-defined]
    return over if is_entry and dotted(over) != dotted(change.target) else None


def _loop_of(name: ast.expr, module: Module) -> Binding | None:
    """What gives a loop's variable its values, if nothing else does."""
    bindings = module.scope_of(name).bindings.get(name.id, ()) if isinstance(name, ast.Name) else ()
    return bindings[0] if len(bindings) == 1 and bindings[0].kind == "for" else None


def sifted(node: ast.DictComp) -> ast.expr | None:
    """The dict of which another one takes entries as they are: `{key: value for key, value in these.items() if …}`."""
    loop = node.generators[0]
    over, names = loop.iter, loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    takes_entries = [dotted(name) for name in names] == [dotted(node.key), dotted(node.value)] != ["", ""]
    if len(node.generators) > 1 or not takes_entries or not isinstance(over, ast.Call) or over.args:
        return None
    return over.func.value if isinstance(over.func, ast.Attribute) and over.func.attr == "items" else None


def passes(node: ast.DictComp, key: object) -> bool:
    """Whether the tests of such a comprehension may let an entry through; one without a key stands for any."""
    name = dotted(node.key)
    return key is None or all(truth_where(test, name, key) is not False for test in node.generators[0].ifs)


def takes_what_is_missing(node: ast.expr, holder: ast.expr) -> bool:
    """Whether a comprehension leaves out what a dict has already: `… if key not in those`."""
    tests = node.generators[0].ifs if isinstance(node, ast.DictComp) else []
    return any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.NotIn)
        and dotted(test.comparators[0]) == dotted(holder) != ""
        for test in tests
    )


def only_fills_up(extra: Extra) -> bool:
    """Whether what was there before stays: `setdefault`, or `if key not in given: given[key] = value`."""
    if extra.is_default:
        return True
    node = extra.source.node
    statement = statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is node else []
    return bool(targets) and all(
        isinstance(target, ast.Subscript) and is_missing_before(statement, target) for target in targets
    )


def is_missing_before(statement: ast.AST, entry: ast.Subscript) -> bool:
    """Whether a statement that sets an entry runs only where there is none."""
    return any(_says_is_missing(fact, entry) for fact in facts_at(statement))


def _says_is_missing(fact: Condition, entry: ast.Subscript) -> bool:
    test = fact.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn | ast.In):
        return False
    asked = test.comparators[0]
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute) and asked.func.attr == "keys":
        asked = asked.func.value
    return (
        isinstance(test.ops[0], ast.NotIn) is fact.holds
        and ast.unparse(test.left) == ast.unparse(entry.slice)
        and bool(dotted(asked))
        and dotted(asked) == dotted(entry.value)
    )
