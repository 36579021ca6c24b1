"""Module-level data that is drawn at random: each import makes its own."""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.global_names import Global
from flake8_torchmp.semantics.binder import written_out
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import body_nodes, dotted
from flake8_torchmp.semantics.values import Collection, External, Function, Member, Result, Value

from .state import State

RANDOM = ("numpy.random.", "random.", "secrets.")
SHUFFLING = frozenset(("random.shuffle", "numpy.random.shuffle"))
RANDOM_TENSORS = frozenset(
    "torch.rand torch.randn torch.randint torch.randperm torch.normal torch.bernoulli torch.multinomial "
    "torch.utils.data.random_split uuid.uuid4 uuid.uuid1 tempfile.mkdtemp tempfile.mkstemp".split()
)
SEEDED_BY = {"sklearn.model_selection.train_test_split": "random_state"}
"""Functions of libraries that draw at random unless an argument seeds them."""
GENERATORS = frozenset(("RandomState", "Generator", "default_rng", "Random", "SystemRandom", "SeedSequence", "PCG64"))
SEEDING = frozenset(
    "random.seed numpy.random.seed torch.manual_seed torch.random.manual_seed "
    "pytorch_lightning.seed_everything lightning.seed_everything lightning.pytorch.seed_everything".split()
)


class RandomGlobals:
    def __init__(self, state: State) -> None:
        self.state = state
        self.evaluator = state.evaluator

    def is_drawn(self, variable: Global) -> bool:
        """Whether each import makes other data: drawn at random and not seeded before."""
        if self._is_seeded(variable.module):
            return False
        if self._is_shuffled(variable):
            return True
        return any(self._is_drawn(value, 0) for value in self.state.names.values(variable)) or any(
            (isinstance(binding.value, ast.Call) and self._draws(binding.value, variable.module))
            or self._is_of_shuffled(written_out(binding.value, binding.path), variable.module)
            for binding in variable.bindings
        )

    def _is_of_shuffled(self, value: ast.expr | None, module: Module, depth: int = 0) -> bool:
        """Whether a list has the order of one that the import shuffles: itself, a slice, what is made of each."""
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            return self._is_of_shuffled(value.value, module, depth)
        if isinstance(value, ast.ListComp):
            return self._is_of_shuffled(value.generators[0].iter, module, depth)
        if not isinstance(value, ast.Name) or depth > 3:
            return False
        variable = self.state.names.of_name(value, module)
        return variable is not None and (
            self._is_shuffled(variable)
            or any(
                self._is_of_shuffled(written_out(binding.value, binding.path), variable.module, depth + 1)
                for binding in variable.bindings
            )
        )

    def _is_shuffled(self, variable: Global) -> bool:
        module = variable.module
        return any(
            isinstance(value, External) and value.name in SHUFFLING
            for call in module.calls.get("shuffle", ())
            if call.args and dotted(call.args[0]) == variable.name and self.state.phase(call, module) == "import"
            if module.scope_of(call).enclosing_function() is None
            for value in self.evaluator.values(call.func, self.evaluator.frame_at(call, module))
        )

    def _draws(self, call: ast.Call, module: Module) -> bool:
        """Whether a function of the project that a call runs draws at random, unseeded."""
        for callee in self.evaluator.values(call.func, self.evaluator.frame_at(call, module)):
            if not isinstance(callee, Function) or isinstance(callee.node, ast.Lambda):
                continue
            names = [
                value.name
                for node in body_nodes(callee.node)
                if isinstance(node, ast.Call)
                for value in self.evaluator.values(node.func, self.evaluator.frame_at(node, callee.scope.module))
                if isinstance(value, External)
            ]
            drawn = any(name in RANDOM_TENSORS or _draws_at_random(name) for name in names)
            if drawn and not SEEDING & set(names):
                return True
        return False

    def _is_drawn(self, value: Value, depth: int) -> bool:
        if isinstance(value, Collection) and depth < 3:
            inner = [v for _, s in self.evaluator.items(value) for v in self.evaluator.of(s)]
            if isinstance(value.node, ast.Call) and value.node.args:  # `set(random.sample(…))`
                inner += self.evaluator.values(value.node.args[0], self.evaluator.frame_at(value.node, value.module))
            return any(self._is_drawn(v, depth + 1) for v in inner)
        if not isinstance(value, Result) or depth > 3:
            return False
        callee = value.callee
        if isinstance(callee, External):
            if callee.name in RANDOM_TENSORS:
                return "generator" not in value.arguments.keywords
            if callee.name in SEEDED_BY:
                return SEEDED_BY[callee.name] not in value.arguments.keywords
            if _draws_at_random(callee.name):
                return True
            if callee.name.startswith(("torch.", "numpy.", "builtins.")) and value.arguments.positional:
                return any(self._is_drawn(v, depth + 1) for v in self.evaluator.of(value.arguments.positional[0]))
            return False
        if isinstance(callee, Member):
            owner = callee.owner
            if isinstance(owner, Result) and owner.name.removesuffix("()").rpartition(".")[2] in GENERATORS:
                unseeded = not owner.arguments.positional and not owner.arguments.keywords
                return unseeded and owner.name.startswith(RANDOM)
            return self._is_drawn(owner, depth + 1)
        return False

    def _is_seeded(self, module: Module) -> bool:
        for name in ("seed", "manual_seed", "seed_everything"):
            for call in module.calls.get(name, ()):
                if module.scope_of(call).enclosing_function() is None:
                    for value in self.evaluator.values(call.func, self.evaluator.frame_at(call, module)):
                        if isinstance(value, External) and value.name in SEEDING:
                            return True
        return False


def _draws_at_random(name: str) -> bool:
    last = name.rpartition(".")[2]
    return name.startswith(RANDOM) and last not in GENERATORS and last.islower() and last != "seed"
