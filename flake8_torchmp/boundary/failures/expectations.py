"""Where a test expects an error: what stands there is meant to fail."""

from __future__ import annotations

import ast

from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import up

ASSERTIONS = tuple("raises assertRaises assertRaisesRegex assert_raises assert_raises_regex".split())
"""Of pytest, unittest and NumPy, and of those who take after them: `with raises(PicklingError): …`."""


def expects_error(module: Module, line: int) -> bool:
    """Whether a line stands in a block of which a test says that it raises."""
    for name in ASSERTIONS:
        for call in module.calls.get(name, ()):
            item = up(call)
            block = up(item) if isinstance(item, ast.withitem) else None
            if isinstance(block, ast.With) and block.lineno <= line <= (block.end_lineno or block.lineno):
                return True
    return False
