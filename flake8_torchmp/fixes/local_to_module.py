"""A function or class that is defined inside another one, or under the main guard, moves to module level.

It goes right before the statement of module level that it stood in. Safe where it reads nothing local; local functions
and classes that it needs move with it. What else it captures becomes keyword-only parameters that functools.partial
fills in, for a class arguments that its instances keep: unsafe, because a closure looks its names up when it is called.
A function repeats the local imports that it reads; those that a class needs come out of the guard with it: unsafe too.
Refused where captured names are bound again later, where it rebinds them itself, or where a class body needs them.
"""

from __future__ import annotations

import ast

from flake8_torchmp.findings import Repair
from flake8_torchmp.semantics.nodes import DEFINITIONS

from .change import Change, NotFixable
from .document import Documents
from .lifting import Lifting
from .outline import outline_of


def change(repair: Repair, documents: Documents) -> Change:
    document = documents[repair.path]
    outline = outline_of(document)
    node = outline.node(repair, *DEFINITIONS)
    if not outline.alone_on_its_lines(node):
        raise NotFixable("other code stands on its lines")
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    lifting = Lifting(document, node, dict(repair.notes))
    return lifting.change(f"the {kind} {{name}} moved to module level")
