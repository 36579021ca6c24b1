"""What a forked process has inherited open is closed there before it opens its own, where the library demands that.

lmdb opens nothing twice in a process, and takes what was inherited for open until it is closed.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from flake8_torchmp.findings import Repair

from .change import NotFixable


class Inherited(NamedTuple):
    is_to_be_closed: bool

    @classmethod
    def by(cls, repair: Repair) -> Inherited:
        return cls("inherited" in dict(repair.notes))

    def closing(self, opening: cst.BaseExpression, receiver: str, attribute: str, indent: str) -> list[str]:
        """Lines that close what an attribute keeps, if that is anything; what opens it says what that is."""
        if not self.is_to_be_closed:
            return []
        kept = f'{receiver}.__dict__.get("{attribute}")'
        if isinstance(opening, cst.List | cst.ListComp):
            return [f"for inherited in {kept} or ():  # by a fork", f"{indent}inherited.close()"]
        if isinstance(opening, cst.Call):
            return [f"if {kept} is not None:", f"{indent}{receiver}.{attribute}.close()  # inherited by a fork"]
        raise NotFixable("a forked process has to close what it inherits before it opens its own")
