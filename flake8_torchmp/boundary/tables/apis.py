"""torch, multiprocessing and their relatives as tables: a row for each way over the boundary.

Learned from the sources and documentation of CPython 3.10 to 3.15 and torch 1.9 to 2.13, and of the libraries named.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from flake8_torchmp.semantics.builtin import ANY
from flake8_torchmp.semantics.callers import Deferred
from flake8_torchmp.source import Words, any_of

MULTIPROCESSING = (
    "torch.multiprocessing.",
    "multiprocessing.context.",
    "multiprocessing.process.",
    "multiprocessing.synchronize.",
    "multiprocessing.managers.",
    "multiprocessing.queues.",
    "multiprocessing.",
)
THREADS = ("multiprocessing.dummy.", "multiprocessing.pool.ThreadPool", "torch.multiprocessing.pool.ThreadPool")


class Parameter(NamedTuple):
    """An argument of a call that crosses."""

    keyword: str
    position: int | None
    role: str
    """function (runs in the worker), dataset (its sample methods do), value, values (each element), object"""


class Api(NamedTuple):
    """A call by which something crosses."""

    name: str
    kind: str
    """loader, process, pool, task, executor, spawn"""
    parameters: tuple[Parameter, ...]
    pickles: str = "start"
    """always; or start: only where the start method is spawn or forkserver"""
    workers: str = "num_workers"
    """Of a loader: the parameter that says how many, or `parameter.attribute`."""


LOADER = (
    Parameter("dataset", 0, "dataset"),
    Parameter("collate_fn", 6, "function"),
    Parameter("worker_init_fn", 10, "function"),
)
KEYWORD_LOADER = tuple(Parameter(p.keyword, 0 if p.position == 0 else None, p.role) for p in LOADER)

FOUR_DATASETS = tuple(
    Parameter(name, index, "dataset")
    for index, name in enumerate(("train_dataset", "val_dataset", "test_dataset", "predict_dataset"))
)
"""Lightning's and PyG's ways to make the loaders of a whole training; `num_workers` is where DataLoader has it."""
SAMPLING_LOADER = tuple(
    Parameter(name, None, "function") for name in ("transform", "transform_sampler_output", "worker_init_fn")
)
"""PyG's loaders over one graph: their collate function is a method of their own, so all that they keep is pickled."""

LOADERS = {
    "torch.utils.data.DataLoader": LOADER,
    "torch.utils.data.dataloader.DataLoader": LOADER,
    "torchdata.stateful_dataloader.StatefulDataLoader": LOADER,
    "torch_geometric.loader.DataLoader": KEYWORD_LOADER,
    "torch_geometric.loader.dataloader.DataLoader": KEYWORD_LOADER,
    "torch_geometric.loader.DenseDataLoader": KEYWORD_LOADER,
    **{
        f"torch_geometric.loader.{name}": SAMPLING_LOADER
        for name in "NeighborLoader LinkNeighborLoader NodeLoader LinkLoader HGTLoader".split()
    },
    "torch_geometric.data.LightningDataset": FOUR_DATASETS,
    "torch_geometric.data.lightning.LightningDataset": FOUR_DATASETS,
    **{
        f"{package}.LightningDataModule.from_datasets": FOUR_DATASETS
        for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
    },
    "litdata.StreamingDataLoader": KEYWORD_LOADER,
    "torch_geometric.data.DataLoader": KEYWORD_LOADER,
    "torch_geometric.loader.DataListLoader": KEYWORD_LOADER,
    "monai.data.DataLoader": KEYWORD_LOADER,
    "monai.data.dataloader.DataLoader": KEYWORD_LOADER,
    "webdataset.WebLoader": LOADER,
    "torchio.SubjectsLoader": KEYWORD_LOADER,
    "dgl.dataloading.GraphDataLoader": KEYWORD_LOADER,
}
LOADER_POSITIONS = {"num_workers": 5, "multiprocessing_context": 11}

FUNCTION = (Parameter("func", 0, "function"),)
INITIALIZER = (Parameter("initializer", 1, "function"), Parameter("initargs", 2, "value"))

MULTIPROCESSING_CALLS = {
    "Process": Api(
        "Process",
        "process",
        (Parameter("target", 1, "function"), Parameter("args", 3, "value"), Parameter("kwargs", 4, "value")),
    ),
    "Pool": Api("Pool", "pool", INITIALIZER),
    "spawn": Api("spawn", "spawn", (Parameter("fn", 0, "function"), Parameter("args", 1, "value")), "always"),
    "start_processes": Api("start_processes", "spawn", (Parameter("fn", 0, "function"), Parameter("args", 1, "value"))),
}
"""What multiprocessing, torch.multiprocessing and their contexts offer, by bare name."""

METHOD_KEYWORDS = {
    **{
        f"torch.distributed.{name}": ("start_method", None)
        for name in (
            "launcher.LaunchConfig",
            "launcher.api.LaunchConfig",
            "elastic.multiprocessing.start_processes",
            "elastic.agent.server.local_elastic_agent.LocalElasticAgent",
        )
    },
    **{
        f"{package}.common.vec_env.{module}SubprocVecEnv": ("start_method", 1)
        for package in ("stable_baselines3", "stable_baselines")
        for module in ("", "subproc_vec_env.")
    },
    "baselines.common.vec_env.SubprocVecEnv": ("context", 2),
    "baselines.common.vec_env.subproc_vec_env.SubprocVecEnv": ("context", 2),
    "baselines.common.vec_env.ShmemVecEnv": ("context", 2),
    "baselines.common.vec_env.shmem_vec_env.ShmemVecEnv": ("context", 2),
    **{
        f"{package}.vector.{module}AsyncVectorEnv": ("context", None)
        for package in ("gym", "gymnasium")
        for module in ("", "async_vector_env.")
    },
}
"""What is given a start method besides: the parameter's name, and its place if it need not be given by name."""

PROCESS_CLASSES = frozenset(("Process", "SpawnProcess", "ForkProcess", "ForkServerProcess", "BaseProcess"))
EXECUTORS = frozenset(("concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process.ProcessPoolExecutor"))
EXECUTOR = Api(
    "ProcessPoolExecutor",
    "executor",
    (Parameter("initializer", 2, "function"), Parameter("initargs", 3, "value")),
)

THREAD_POOLS = frozenset(
    "multiprocessing.pool.ThreadPool torch.multiprocessing.pool.ThreadPool multiprocessing.dummy.Pool".split()
)
THREAD_EXECUTORS = frozenset(("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor"))

POOL_TASKS = {
    **{
        name: Api(f"Pool.{name}", "task", (*FUNCTION, Parameter("iterable", 1, "values")), "always")
        for name in ("map", "map_async", "imap", "imap_unordered", "starmap", "starmap_async")
    },
    **{
        name: Api(
            f"Pool.{name}", "task", (*FUNCTION, Parameter("args", 1, "value"), Parameter("kwds", 2, "value")), "always"
        )
        for name in ("apply", "apply_async")
    },
}
EXECUTOR_TASKS = {
    "submit": Api("ProcessPoolExecutor.submit", "task", (Parameter("fn", 0, "function"),), "always"),
    "map": Api("ProcessPoolExecutor.map", "task", (Parameter("fn", 0, "function"),), "always"),
}
RUN_IN_EXECUTOR = Api("run_in_executor", "task", (Parameter("func", 1, "function"),), "always")
"""asyncio's way to an executor, which is its first argument."""

DATASETS = frozenset(
    f"torch.utils.data.{module}{name}"
    for module in ("", "dataset.")
    for name in (
        "Dataset",
        "IterableDataset",
        "TensorDataset",
        "Subset",
        "ConcatDataset",
        "ChainDataset",
        "StackDataset",
    )
) | frozenset(
    "torch.utils.data.IterDataPipe torch.utils.data.MapDataPipe torchdata.datapipes.iter.IterDataPipe "
    "torchdata.datapipes.map.MapDataPipe torch.utils.data.datapipes.datapipe.IterDataPipe webdataset.DataPipeline "
    "torch_geometric.data.dataset.Dataset litdata.StreamingDataset streaming.StreamingDataset "
    "torch_geometric.data.Dataset torch_geometric.data.InMemoryDataset torch_geometric.data.OnDiskDataset "
    "torchvision.datasets.VisionDataset torchvision.datasets.vision.VisionDataset torchvision.datasets.ImageFolder "
    "torchvision.datasets.DatasetFolder torchvision.datasets.folder.ImageFolder monai.data.Dataset "
    "monai.data.CacheDataset monai.data.PersistentDataset torchio.SubjectsDataset webdataset.WebDataset".split()
)
ITERABLE_DATASETS = frozenset(
    "torch.utils.data.IterableDataset torch.utils.data.dataset.IterableDataset torch.utils.data.ChainDataset "
    "torch.utils.data.IterDataPipe torchdata.datapipes.iter.IterDataPipe webdataset.WebDataset "
    "torch.utils.data.datapipes.datapipe.IterDataPipe webdataset.DataPipeline litdata.StreamingDataset "
    "streaming.StreamingDataset".split()
)
GRAPH_DATASETS = frozenset(
    "torch_geometric.data.Dataset torch_geometric.data.InMemoryDataset torch_geometric.data.OnDiskDataset "
    "torch_geometric.data.dataset.Dataset".split()
)
DATASET_MODULES = ("torchvision.datasets.", "torchaudio.datasets.", "torchtext.datasets.", "torch_geometric.datasets.")
"""Every class of these modules is a dataset."""

HOLDERS = frozenset(
    "torch.utils.data.random_split builtins.map builtins.filter builtins.zip builtins.enumerate "
    "collections.defaultdict functools.partial operator.truediv operator.add itertools.islice itertools.takewhile "
    "itertools.dropwhile itertools.filterfalse itertools.starmap itertools.accumulate itertools.groupby "
    "torch.utils.data.dataset.random_split numpy.vectorize".split()
)
"""Functions whose result keeps what they were given; a class (capital letter) is taken to keep its arguments."""
NOT_HOLDERS = frozenset(
    "threading.Thread torch.Tensor torch.LongTensor torch.FloatTensor pathlib.Path pandas.DataFrame pandas.Series "
    "collections.Counter random.Random gym.vector.utils.CloudpickleWrapper gymnasium.vector.utils.CloudpickleWrapper "
    "gym.vector.utils.misc.CloudpickleWrapper gymnasium.vector.utils.misc.CloudpickleWrapper "
    "stable_baselines3.common.vec_env.base_vec_env.CloudpickleWrapper "
    "baselines.common.vec_env.CloudpickleWrapper baselines.common.vec_env.vec_env.CloudpickleWrapper".split()
)
"""And what copies it, or pickles it by a serializer that knows lambdas."""
READING_OUT = re.compile(r"torch\.optim\.(?!lr_scheduler|swa_utils)")
"""Classes that make lists of the iterators they are given: an optimizer of `filter(…, model.parameters())`."""
COPYING = ("pandas.",)
"""Libraries whose objects copy what is assigned to their attributes and elements: a column made by `map` is a list."""
PIPELINES = ("webdataset.", "torchdata.", "torch.utils.data.datapipes.", "torch.utils.data.IterDataPipe")
"""Objects whose methods return a stage that keeps what it was given: `.map(f).select(g)`."""

LAUNCHERS = re.compile(
    r"(?:pytorch_lightning|lightning(?:\.pytorch)?)(?:\.trainer)?\.Trainer\(\)\."
    r"(?:fit|validate|test|predict)"
)
"""Calls that iterate the loaders which they are given."""

CONSUMERS = frozenset(
    "builtins.list builtins.tuple builtins.set builtins.next builtins.iter builtins.sum builtins.sorted builtins.max "
    "builtins.min builtins.any builtins.all builtins.dict builtins.enumerate builtins.zip builtins.frozenset "
    "collections.deque collections.Counter itertools.islice itertools.cycle itertools.chain itertools.zip_longest "
    "itertools.tee itertools.accumulate itertools.groupby itertools.pairwise itertools.batched "
    "tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm tqdm.std.tqdm tqdm.trange "
    "rich.progress.track".split()
)
"""Functions that iterate, now or when their result is, what they are given."""

CONSUMERS_BEHIND_FUNCTION = frozenset(
    "builtins.map builtins.filter functools.reduce itertools.starmap itertools.takewhile itertools.dropwhile "
    "itertools.filterfalse".split()
)
"""The same, where a function comes first."""

RUNNERS = frozenset(
    "builtins.map builtins.filter functools.reduce fire.Fire typer.run absl.app.run tyro.cli jsonargparse.CLI "
    "jsonargparse.auto_cli defopt.run timeit.timeit".split()
)
"""Functions that call what they are given first, now or when their result is iterated."""

PRIMITIVES = frozenset(
    "Value Array Queue JoinableQueue SimpleQueue Lock RLock Semaphore BoundedSemaphore Condition Event Barrier".split()
)

IMPORT_TIME_DECORATORS = frozenset(("fastcore.script.call_parse", "fastcore.all.call_parse", "fastcore.call_parse"))
"""Decorators that run the function when its module is the main one, with or without a guard."""

DEFERRED = {
    "Process": Deferred("target", 1, "args", args_index=3),
    "Thread": Deferred("target", 1, "args", args_index=3),
    "submit": Deferred("fn", 0, "rest"),
    "apply": Deferred("func", 0, "second", args_index=1),
    "apply_async": Deferred("func", 0, "second", args_index=1),
    "map": Deferred("func", 0, "each"),
    "imap": Deferred("func", 0, "each"),
    "imap_unordered": Deferred("func", 0, "each"),
    "starmap": Deferred("func", 0, "unseen"),
    "map_async": Deferred("func", 0, "each"),
    "starmap_async": Deferred("func", 0, "unseen"),
    "spawn": Deferred("fn", 0, "second", leading=1, args_index=1),
    "start_processes": Deferred("fn", 0, "second", leading=1, args_index=1),
    "run_in_executor": Deferred("func", 1, "rest"),
}
"""Calls that are given a function and have it called."""

LIBRARIES = frozenset(
    "torch torchvision torchaudio torchtext torch_geometric torchdata numpy pandas scipy sklearn cv2 PIL h5py lmdb "
    "pytorch_lightning lightning transformers accelerate monai webdataset tqdm yaml matplotlib joblib "
    "albumentations timm ray dask omegaconf hydra litdata".split()
)
POPULAR_NAMES = frozenset(("datasets",))
"""Libraries whose name is that of many a project's own module."""

LOADER_WORDS = Words(
    rb"DataLoader|Loader\b|LightningDataset\b|data_collator|from_datasets|ParallelMapper",
    b"Loader LightningDataset data_collator from_datasets ParallelMapper".split(),
)
"""The names of all that makes loaders."""
_STARTING = Words(
    rb"multiprocessing|\bProcess(?:PoolExecutor)?\b|\bPool\b|\bspawn\b|start_method|start_processes|get_context"
    rb"|call_parse|\bfork(?:pty)?\b|\bThread",
    b"multiprocessing Process Pool spawn start_ get_context call_parse fork Thread".split(),
)
_TASKS = Words(
    rb"(?:\b|_)(?:imap|starmap|apply_async|map_async)|\.(?:map|submit)\(",
    b"imap starmap apply_async map_async .map( .submit(".split(),
)
"""What is asked of a pool or executor that another file made and handed over."""
_THREADING = Words(rb"\bthreading\b|\b_thread\b|\bQueueListener\b", b"thread QueueListener".split())
"""What starts threads that another file forks after."""
_DATASETS = Words(
    rb"Dataset\b|IterDataPipe|\bDatasetFolder|\bImageFolder|get_worker_info",
    b"Dataset IterDataPipe ImageFolder get_worker_info".split(),
)
_LIBRARIES_OF_DATASETS = (b"torchvision", b"torchaudio", b"torch_geometric")

OWN_WORDS = any_of(
    LOADER_WORDS,
    _STARTING,
    _TASKS,
    _THREADING,
    _DATASETS,
    pairs=[(library, b"datasets") for library in _LIBRARIES_OF_DATASETS],
)
"""No file without one of these words has a crossing, worker code or a start of its own."""

WORDS = any_of(OWN_WORDS, Words(b"|".join(_LIBRARIES_OF_DATASETS), list(_LIBRARIES_OF_DATASETS)))
"""The names of all that can cross, run in workers or start them; and where datasets come from."""

STARTS = any_of(
    LOADER_WORDS, _STARTING, Words(rb"Executor\b|Manager\b|\bTrainer\b", b"Executor Manager Trainer".split())
)
"""No code without one of these words in it starts processes, or makes what does when it is iterated."""


@cache
def bare(name: str) -> str:
    """The name that something of multiprocessing has in all its modules, or nothing for everything else."""
    if name.startswith(THREADS):
        return ""
    if name in ("multiprocessing.pool.Pool", "torch.multiprocessing.pool.Pool"):
        return "Pool"
    for prefix in MULTIPROCESSING:
        if name.startswith(prefix):
            rest = name[len(prefix) :]
            return rest if "." not in rest else ""
    return ""


def is_dataset_name(name: str) -> bool:
    if name in DATASETS:
        return True
    last = name.rpartition(".")[2]
    return name.startswith(DATASET_MODULES) and (last[:1].isupper() or last == ANY)
