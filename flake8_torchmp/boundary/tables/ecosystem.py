"""The ways over the boundary that other libraries offer, a row each, beside torch's own.

Learned by handing transformers 5.23, datasets 5.2, torchdata's nodes and torch_geometric a lambda under spawn, and from
their signatures. What pickles by dill or cloudpickle is not here, since lambdas pass there: joblib, ray, dask,
`Dataset.map(num_proc=)` of datasets, the vectorised environments of gym and torchrl.
"""

from __future__ import annotations

from flake8_torchmp.semantics import classes, keywords
from flake8_torchmp.semantics.calls import Arguments
from flake8_torchmp.semantics.choices import is_callers_choice, is_choice
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.values import Constant, Instance, Member, Result, Value, qualified

from .apis import LOADER_POSITIONS, Api, Parameter

_TRAINER = (
    Parameter("data_collator", 2, "function"),
    Parameter("train_dataset", 3, "dataset"),
    Parameter("eval_dataset", 4, "dataset"),
)
CALLS = {
    **{
        f"transformers.{module}{name}": Api(name, "loader", _TRAINER, workers="args.dataloader_num_workers")
        for module, name in (
            ("", "Trainer"),
            ("trainer.", "Trainer"),
            ("", "Seq2SeqTrainer"),
            ("trainer_seq2seq.", "Seq2SeqTrainer"),
        )
    },
    "torchdata.nodes.ParallelMapper": Api(
        "ParallelMapper", "loader", (Parameter("map_fn", 1, "function"),), workers="method"
    ),
}
"""Calls whose workers are counted elsewhere than in `num_workers`; the others are in the table of loaders."""

NO_WORKERS = (0, None, "thread")

LAZY_METHODS = frozenset(("with_transform",))
"""Of datasets' Dataset: the methods whose result keeps the function. `map` and `filter` run it at once."""
LAZY_METHODS_OF_STREAMS = frozenset(("map", "filter"))
"""Of its IterableDataset, besides."""


def has_no_workers(evaluator: Evaluator, arguments: Arguments, workers: str = "num_workers") -> bool:
    """Whether a loader is known to work in the parent alone; a count that cannot be seen is not."""
    holder, _, name = workers.rpartition(".")
    if holder:
        return not _counts_workers(evaluator, arguments, holder, name)
    given = keywords.sources(evaluator, arguments, LOADER_POSITIONS.get(name), name)
    if not given:
        return not arguments.is_open
    values = [value for source in given for value in evaluator.of(source)]
    if name == "method":  # threads unless it is told otherwise
        return not any(isinstance(value, Constant) and not is_no_count(value) for value in values)
    if not all(is_no_count(value) for value in values) or any(map(is_callers_choice, values)):
        return False
    return not (all(map(is_choice, values)) and _needs_workers(evaluator, arguments))


def _needs_workers(evaluator: Evaluator, arguments: Arguments) -> bool:
    """Whether a loader refuses to work without workers, so that whoever runs it has to ask for some."""
    source = arguments.keywords.get("persistent_workers")
    return source is not None and all(type(value) is Constant and value.value is True for value in evaluator.of(source))


def _counts_workers(evaluator: Evaluator, arguments: Arguments, holder: str, name: str) -> bool:
    """Whether the object with the options is seen to ask for workers; by default there are none."""
    source = arguments.get(1, holder)
    for value in evaluator.of(source) if source is not None else ():
        counts = [extra.source for extra in value.extras if extra.kind == "attribute" and extra.label == name]
        if isinstance(value, Result | Instance) and value.arguments is not None and name in value.arguments.keywords:
            counts.append(value.arguments.keywords[name])
        if any(not is_no_count(count) for given in counts for count in evaluator.of(given)):
            return True
    return False


def is_no_count(value: Value) -> bool:
    return isinstance(value, Constant) and value.value in NO_WORKERS


def is_view(value: Result) -> bool:
    """Whether a value is what a method of a Hugging Face dataset gives: another one, which keeps what that one kept."""
    return value.name.startswith("datasets.") and isinstance(value.callee, Member)


def keeps_function(value: Result) -> bool:
    """Whether such a view calls the function that it was given when samples are read."""
    assert isinstance(value.callee, Member)
    method = value.callee.name
    return method in LAZY_METHODS or (method in LAZY_METHODS_OF_STREAMS and _is_stream(value.callee.owner))


def _is_stream(value: Value) -> bool:
    while True:
        if isinstance(value, Result):
            streaming = value.arguments.keywords.get("streaming")
            if (
                value.name.endswith(".to_iterable_dataset")
                or getattr(streaming and streaming.node, "value", None) is True
            ):
                return True
            value = value.callee
        elif isinstance(value, Member):
            value = value.owner
        else:
            return False


NETWORK_WRAPPERS = frozenset(
    "torch.nn.DataParallel torch.nn.parallel.DataParallel torch.nn.parallel.DistributedDataParallel "
    "torch.nn.parallel.data_parallel.DataParallel torch.nn.parallel.distributed.DistributedDataParallel".split()
)

NETWORK_RETURNING = frozenset("to cuda cpu half float double train eval requires_grad_ share_memory".split())
"""Methods of a network that give the network itself."""


def wrapped_networks(evaluator: Evaluator, value: Value) -> list[Instance] | None:
    """The project's networks that `DataParallel(network)`, its `.module` and `network.to(device)` stand for."""
    while isinstance(value, Member | Result):
        if isinstance(value, Result) and value.name in NETWORK_WRAPPERS:
            source = value.arguments.get(0, "module")
            given = evaluator.of(source) if source is not None else ()
            return [network for network in given if isinstance(network, Instance)]
        if isinstance(value, Member) and value.name == "module" and isinstance(value.owner, Instance):
            return [value.owner]  # `network.module if is_parallel else network`
        if isinstance(value, Member) and value.name in NETWORK_RETURNING and isinstance(value.owner, Instance):
            return [value.owner]  # `network.to(device)`
        value = value.owner if isinstance(value, Member) else value.callee
    return None


SAME_NETWORK = frozenset(
    "apply bfloat16 cpu cuda double eval float half requires_grad_ share_memory to train type".split()
)
"""Methods of `torch.nn.Module` that give back the module itself."""
FLUENT = {name: frozenset(("torch.nn.", "torch.jit.")) for name in SAME_NETWORK}


def same_network(evaluator: Evaluator, value: Value) -> Value | None:
    """The network that a method was called on which gives it back: of `network.to(device).eval()`."""
    callee = value.callee if isinstance(value, Result) else None
    if not isinstance(callee, Member) or callee.name not in SAME_NETWORK:
        return None
    owner = callee.owner
    bases = classes.library_bases(evaluator, owner.cls) if isinstance(owner, Instance) else [qualified(owner)]
    is_network = (
        any(base.startswith(("torch.nn.", "torch.jit.")) for base in bases)
        or same_network(evaluator, owner) is not None
    )
    return owner if is_network else None
