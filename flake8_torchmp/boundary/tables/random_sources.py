"""Random generators as tables: what makes one, what draws from one, what seeds one, and what differs per process.

Learned from the documentation of Python's random, numpy.random (1.17 to 2.4), torch (torch.random, Generator) and of
the libraries named; what multiprocessing and DataLoader do with them was tried: DataLoader seeds torch, Python's random
and NumPy's global generator in each worker, a forked process inherits torch's and NumPy's (Python's is reseeded after
fork; NumPy's is made at its first use, so a parent that never used it hands on nothing).
"""

from __future__ import annotations

import ast
import re

from flake8_torchmp.semantics.nodes import last_name
from flake8_torchmp.semantics.scopes import Scope

MAKERS = frozenset(
    "numpy.random.RandomState numpy.random.mtrand.RandomState numpy.random.default_rng numpy.random.Generator "
    "random.Random torch.Generator torch._C.Generator sklearn.utils.check_random_state".split()
)
"""What makes a generator whose state is copied with it. random.SystemRandom asks the system, so it is not here."""
MAKER_NAMES = frozenset(name.rpartition(".")[2] for name in MAKERS)

NOT_DRAWING = frozenset(
    "seed manual_seed initial_seed get_state set_state getstate setstate bit_generator spawn jumped device "
    "clone_state graphsafe_get_state".split()
)
"""What generators offer that draws nothing."""

PICKING = frozenset("choice choices randint randrange integers randperm permutation sample".split())
"""What draws numbers that can be indices, by its last name."""
DRAWING_METHODS = frozenset(
    "rand randn random random_sample ranf randint integers uniform normal standard_normal choice choices permutation "
    "permuted shuffle sample gauss normalvariate lognormal lognormvariate beta betavariate binomial poisson "
    "exponential expovariate gamma gammavariate triangular multinomial multivariate_normal dirichlet laplace logistic "
    "geometric randrange getrandbits randbytes bytes vonmises vonmisesvariate weibull chisquare standard_gamma".split()
)
"""What generators of Python and NumPy offer that draws."""

CHOOSING = frozenset("choice choices permutation permuted shuffle sample randperm multinomial".split())
NOISE = (DRAWING_METHODS | frozenset("rand_like randn_like randint_like bernoulli normal_ uniform_".split())) - CHOOSING
"""Calls that draw numbers, from a generator or with one as an argument."""

SEEDING_BY_ENTROPY = frozenset(("torch.seed", "torch.random.seed"))
"""Functions that seed without a seed; those of random and NumPy are the seeders too."""

RESEEDING = frozenset("seed manual_seed set_state setstate set_random_state".split())

SEEDERS = {
    "random.seed": "a",
    "numpy.random.seed": "seed",
    "torch.manual_seed": "seed",
    "torch.random.manual_seed": "seed",
    "torch.cuda.manual_seed": "seed",
    "torch.cuda.manual_seed_all": "seed",
    "pytorch_lightning.seed_everything": "seed",
    "pytorch_lightning.utilities.seed.seed_everything": "seed",
    "lightning.seed_everything": "seed",
    "lightning.pytorch.seed_everything": "seed",
    "lightning_fabric.utilities.seed.seed_everything": "seed",
    "lightning.fabric.seed_everything": "seed",
    "accelerate.utils.set_seed": "seed",
    "transformers.set_seed": "seed",
    "transformers.trainer_utils.set_seed": "seed",
    "monai.utils.set_determinism": "seed",
    "imgaug.seed": "entropy",
    "imgaug.random.seed": "entropy",
    "tensorflow.random.set_seed": "seed",
}
"""What seeds a global generator, with the name of the argument that it is seeded with."""

SEEDS_OF_TORCH = frozenset(("torch.initial_seed", "torch.random.initial_seed"))
"""What tells the last seed of torch's generator: in a loader's worker its own, until somebody seeds it anew."""

OTHER_SEEDERS = ("random.", "numpy.", "torch.cuda.", "imgaug.", "tensorflow.")
TORCH_SEEDERS = frozenset(name for name in SEEDERS if not name.startswith(OTHER_SEEDERS))
"""What seeds torch's generator, alone or with others."""

SEEDER_NAMES = tuple(sorted({name.rpartition(".")[2] for name in SEEDERS}))

LOADS_NUMPY_RANDOM = re.compile(
    rb"^(?:import|from)[ \t]+(?:numpy\.random|scipy\.\w+|sklearn|pandas|seaborn|numba|jax|tensorflow|keras|gymnasium"
    rb"|datasets|albumentations|imgaug)\b"
    rb"|^from[ \t]+numpy[ \t]+import[ \t]+(?:[\w, \t]+,[ \t]*)?random\b"
    rb"|^from[ \t]+scipy[ \t]+import\b",
    re.MULTILINE,
)
"""Imports that make NumPy's global generator in the parent: tried with NumPy 2.4, which makes it at its first use, and
the releases of late 2026 (scikit-image, matplotlib, OpenCV and networkx don't). Before NumPy 2 each import made it."""

SAME_IN_LOADER = frozenset(
    "torch.distributed.get_rank torch.distributed.get_world_size builtins.int builtins.abs builtins.len builtins.min "
    "builtins.max builtins.str builtins.float os.environ.get os.getenv".split()
)
"""Calls that give the same in all workers of a loader, if their arguments are the same."""

SAVING = frozenset("fork_rng get_rng_state set_rng_state getstate setstate get_state set_state isolate_rng".split())
"""A function that calls one of these puts the state back: its author thought of who else draws."""

TORCH_DRAWS = frozenset(
    f"torch.{name}"
    for name in (
        "rand randn randint randperm normal bernoulli multinomial rand_like randn_like randint_like poisson".split()
    )
)
TORCH_DRAWING = re.compile(r"torch\.(?:distributions\..+\(\)\.(?:r?sample|sample_n)|.*\(\)\.(?:multinomial|bernoulli))")
"""What distributions and tensors offer that draws from the same generator."""
NUMPY_RANDOM = "numpy.random."
DRAWING = ("numpy.random.", "random.", "torch.rand", "torch.normal", "torch.bernoulli", "torch.multinomial", "secrets.")

DISTRIBUTED = frozenset(
    "init_process_group DistributedDataParallel FullyShardedDataParallel init_device_mesh fully_shard "
    "DistributedSampler init_distributed DDP FSDP Accelerator AcceleratorState".split()
)
"""Names by which a function says that its processes train one model together: their seeds are meant to be equal."""

OWN_STREAMS = (
    "datasets.",
    "webdataset.",
    "litdata.",
    "streaming.",
    "torchdata.",
    "pytorchvideo.",
    "kafka.",
    "confluent_kafka.",
    "pulsar.",
)
"""Libraries whose iterables give each worker its own part, or each message to one reader alone."""

RECEIVING = frozenset(
    "get get_nowait recv recv_bytes recv_multipart recv_json recv_pyobj receive poll lpop blpop rpop brpop consume "
    "pop popleft xreadgroup".split()
)
"""Methods of queues, pipes and brokers: what one worker takes, no other gets."""


def draws_by_torch(name: str) -> bool:
    """Whether a call, going by its qualified name, draws from torch's global generator."""
    return name in TORCH_DRAWS or TORCH_DRAWING.fullmatch(name) is not None


def draws(name: str) -> bool:
    """Whether a qualified name is a function that draws from a global generator."""
    last = name.rpartition(".")[2]
    return name.startswith(DRAWING) and last[:1].islower() and last not in NOT_DRAWING and last != "default_rng"


def is_drawn(number: ast.expr, scope: Scope) -> bool:
    """Whether a number is drawn at random right there: `random.randrange(n)`, or a variable that only holds that."""
    if isinstance(number, ast.Name):
        bindings = scope.bindings.get(number.id, ())
        return bool(bindings) and all(b.value is not None and is_drawn(b.value, scope) for b in bindings)
    if not isinstance(number, ast.Call):
        return False
    name = last_name(number.func)
    if name in ("int", "item"):
        inner = number.args[0] if number.args else getattr(number.func, "value", number)
        return inner is not number and is_drawn(inner, scope)
    return name in PICKING
