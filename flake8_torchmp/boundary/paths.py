"""Paths: which expressions are relative path literals, and which parameters are paths because they get opened."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flake8_torchmp.semantics import classes
from flake8_torchmp.semantics.calls import parameters, receiver_name
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, body_nodes, dotted, last_name
from flake8_torchmp.semantics.scopes import Place, Scope
from flake8_torchmp.semantics.values import (
    Class,
    Collection,
    Constant,
    External,
    Function,
    Hop,
    Member,
    Method,
    Result,
    Source,
    Text,
    Value,
)

_NAMING = re.compile(r"[\w.]")
_STAND_IN = re.compile(r"(?i:dummy|placeholder|unused|none|null|tbd)(?:[_ -](?:string|str|path|file|dir|name))?$")
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]|^\\\\|^[a-z][a-z0-9+.-]*:")

PATH_CLASSES = frozenset(
    f"pathlib.{name}" for name in ("Path", "PurePath", "PosixPath", "WindowsPath", "PurePosixPath")
)
PASSING = frozenset(
    "os.path.join os.path.normpath os.path.normcase os.path.dirname os.fspath builtins.str os.path.join "
    "os.path.splitext posixpath.join".split()
)
"""Functions whose result is as relative as their first argument."""
PASSING_METHODS = frozenset(
    "joinpath with_suffix with_name with_stem as_posix expanduser format rstrip strip replace relative_to".split()
)
_KEEPING_METHODS = frozenset("joinpath with_suffix with_name with_stem expanduser relative_to".split())
"""Those of them that make a path of a path."""
OPENING_METHODS = frozenset("open read_text read_bytes iterdir glob rglob write_text write_bytes".split())
LISTING_METHODS = frozenset(("glob", "rglob", "iterdir"))
LISTERS = frozenset(("glob.glob", "glob.iglob"))
LOOKING_METHODS = OPENING_METHODS | frozenset("exists is_file is_dir stat mkdir".split())

OPENERS = frozenset(
    "builtins.open io.open codecs.open os.open os.listdir os.scandir os.walk glob.glob glob.iglob gzip.open bz2.open "
    "lzma.open zipfile.ZipFile tarfile.open tarfile.TarFile sqlite3.connect wave.open shelve.open dbm.open "
    "numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile numpy.memmap numpy.save "
    "torch.load torch.jit.load torchvision.io.read_image torchvision.io.read_video torchvision.io.read_file "
    "torchaudio.load torchaudio.info PIL.Image.open cv2.imread cv2.VideoCapture cv2.imwrite h5py.File "
    "pandas.read_csv pandas.read_table pandas.read_pickle pandas.read_parquet pandas.read_json pandas.read_excel "
    "pandas.read_feather pandas.read_hdf pandas.HDFStore lmdb.open lmdb.Environment imageio.imread imageio.v2.imread "
    "imageio.v3.imread skimage.io.imread scipy.io.loadmat scipy.io.wavfile.read soundfile.read soundfile.SoundFile "
    "librosa.load nibabel.load tifffile.imread rasterio.open zarr.open decord.VideoReader av.open joblib.load "
    "pyarrow.parquet.read_table pyarrow.memory_map xml.etree.ElementTree.parse safetensors.torch.load_file "
    "safetensors.safe_open pydicom.dcmread SimpleITK.ReadImage trimesh.load laspy.read nrrd.read jpeg4py.JPEG "
    "lycon.load mmcv.imread netCDF4.Dataset xarray.open_dataset tables.open_file".split()
)
LOOKERS = OPENERS | frozenset(
    "os.path.exists os.path.isfile os.path.isdir os.path.getsize os.stat os.makedirs os.mkdir os.path.getmtime".split()
)
OPENED_KEYWORDS = (
    "file",
    "path",
    "name",
    "filename",
    "fname",
    "fp",
    "f",
    "filepath_or_buffer",
    "uri",
    "io",
    "pathname",
)
PATH_PARAMETERS = re.compile(
    r"(?:^|_)(?:root|path|paths|dir|dirs|directory|folder|file|filename|files|fname|filepath|filelist|csv|location)$"
)
LABELLED_BY_FILE = frozenset("CocoDetection CocoCaptions UCF101 HMDB51".split())
"""Datasets of libraries whose second argument is the path of their labels."""


class Literal(NamedTuple):
    """A relative path that the program spells out."""

    node: ast.expr
    module: Module
    text: str
    way: tuple[Hop, ...]
    kind: str = "text"
    """What the node makes: a text, a `path` that can be resolved, or a `pure` one that knows no files."""


def is_relative(text: str) -> bool:
    """Whether a text can be a path that begins at the current folder.

    `???` and `dummy_path` name no file, `a.tar::b.tar` two.
    """
    if not _NAMING.search(text) or _DRIVE.match(text) or _STAND_IN.match(text) or "::" in text:
        return False
    return not text.startswith(("/", "~", "$", "{", "%", "<", ":"))


class Paths:
    def __init__(self, evaluator: Evaluator, outline: Evaluator) -> None:
        self.evaluator = evaluator
        self.outline = outline
        self._parameters: dict[tuple[Place, str], bool] = {}
        self._opened: dict[int, list[tuple[ast.Call, Literal]]] = {}

    def forget(self) -> None:
        self._opened.clear()

    def _literals(self, value: Value, depth: int, evaluator: Evaluator) -> Iterator[Literal]:
        if type(value) is Constant or (isinstance(value, Constant) and evaluator is self.outline):
            if isinstance(value.value, str) and is_relative(value.value):
                yield Literal(value.node, value.module, value.value, value.way)
        elif isinstance(value, Text):
            if is_relative(value.start) and ("/" in value.start or value.start.startswith(".")):
                yield Literal(value.node, value.module, value.start + "…", value.way)
        elif isinstance(value, Collection) and value.kind != "dict" and depth < 2:
            for _, source in evaluator.items(value):
                for part in evaluator.of(source):
                    yield from self._literals(part, depth + 1, evaluator)
            if not value.complete and isinstance(value.node, ast.Call):
                yield from self._copied(value.node.args[:1], value, depth, evaluator)
        elif isinstance(value, Result) and _lists(value) and depth < 6:
            for part in self._listed(value, evaluator):
                for literal in self._literals(part, depth + 1, evaluator):
                    yield literal._replace(way=literal.way + value.way)
        elif isinstance(value, Result) and depth < 6:
            inner = self._base_of(value)
            if isinstance(inner, Source):
                for part in evaluator.of(inner):
                    for literal in self._literals(part, depth + 1, evaluator):
                        yield self._widened(literal, value)
            elif inner is not None:
                for literal in self._literals(inner, depth + 1, evaluator):
                    yield self._widened(literal, value)

    def _copied(self, copied: list[ast.expr], value: Collection, depth: int, evaluator: Evaluator) -> Iterator[Literal]:
        """`sorted(folder.glob("*.png"))`: the paths in it begin where the folder is."""
        for node in copied:
            for part in evaluator.values(node, evaluator.frame_at(node, value.module)):
                if isinstance(part, Result) and _lists(part):
                    for literal in self._literals(part, depth + 1, evaluator):
                        yield literal._replace(way=literal.way + value.way)

    @staticmethod
    def _listed(value: Result, evaluator: Evaluator) -> tuple[Value, ...]:
        """The folder or pattern by which files are listed."""
        if isinstance(value.callee, Member):
            return (value.callee.owner,)
        source = value.arguments.get(0, "pathname")
        return evaluator.of(source) if source is not None else ()

    @staticmethod
    def _widened(literal: Literal, value: Result) -> Literal:
        """`Path("data")` rather than the text inside it, where both stand in the same expression."""
        call = value.arguments.call
        if isinstance(call, ast.expr) and any(part is literal.node for part in ast.walk(call)):
            literal = literal._replace(node=call, kind=_kind(value, literal.kind))
        return literal._replace(way=literal.way + value.way)

    def _base_of(self, value: Result) -> Source | Value | None:
        """What a path is built on: as relative as it is."""
        callee = value.callee
        if isinstance(callee, External):
            if callee.name in PATH_CLASSES | PASSING | {"operator.truediv", "os.path.expanduser"}:
                return value.arguments.get(0)
            return None
        if isinstance(callee, Member) and callee.name in PASSING_METHODS:
            return callee.owner
        return None

    def opened_in(self, scope: Scope) -> list[tuple[ast.Call, Literal]]:
        """The relative path literals that a function opens."""
        known = self._opened.get(id(scope))
        if known is None:
            known = list(self._find_opened(scope, self.outline))
            if known:
                known = self.evaluator.alone(lambda: list(self._find_opened(scope, self.evaluator)))
            self._opened[id(scope)] = known
        return known

    def _find_opened(self, scope: Scope, evaluator: Evaluator) -> Iterator[tuple[ast.Call, Literal]]:
        assert isinstance(scope.node, FUNCTIONS)
        names = _names_of_openers(scope.module)
        for node in body_nodes(scope.node, nested=False):
            if isinstance(node, ast.Call) and last_name(node.func) in names:
                source = _opened(node, scope.module, evaluator)
                for value in evaluator.of(source) if source is not None else ():
                    for literal in self._literals(value, 0, evaluator):
                        yield node, literal

    def relative_literals(self, source: Source) -> Iterator[Literal]:
        """The relative path literals that an expression can be, whole or as its beginning."""
        for value in self.evaluator.of(source):
            yield from self._literals(value, 0, self.evaluator)

    # parameters that are paths

    def is_path_parameter(self, cls: Class, name: str) -> bool:
        """Whether what a class is made with under a name is opened, unresolved, by its methods."""
        key = (cls.scope.place, name)
        if key not in self._parameters:
            self._parameters[key] = _Flow(self.outline, cls).opens(name)
        return self._parameters[key]

    @staticmethod
    def is_path_of_library(dataset: str, index: int | None, name: str) -> bool:
        """Datasets of libraries take their root first, some their labels after it; other paths say so by name."""
        is_positional = index == 0 or (index == 1 and dataset in LABELLED_BY_FILE)
        return is_positional or name == "annFile" or bool(PATH_PARAMETERS.search(name))


def field_read(node: ast.AST) -> tuple[str, str] | None:
    """What is read of what: `root` of `config.root`, `[root]` of `config["root"]` and `config.get("root")`."""
    if isinstance(node, ast.Attribute):
        return dotted(node.value), node.attr
    holder: ast.expr | None = None
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        holder, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        holder, key = node.func.value, node.args[0]
    if holder is None or not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return None
    return dotted(holder), f"[{key.value}]"


def _lists(value: Result) -> bool:
    """Whether a result lists paths that are as relative as what it was asked with."""
    if isinstance(value.callee, Member):
        return value.callee.name in LISTING_METHODS
    return isinstance(value.callee, External) and value.callee.name in LISTERS


def _kind(value: Result, kind: str) -> str:
    """What an operation on a path of some kind makes."""
    callee = value.callee
    if isinstance(callee, Member):
        return kind if callee.name in _KEEPING_METHODS else "text"
    if isinstance(callee, External) and callee.name in PATH_CLASSES:
        return "pure" if "Pure" in callee.name else "path"
    if isinstance(callee, External) and callee.name == "operator.truediv":
        return "path" if kind == "text" else kind
    return "text"


def _opened(node: ast.Call, module: Module, evaluator: Evaluator) -> Source | None:
    """The path that a call opens, if it opens one."""
    frame = evaluator.frame_at(node, module)
    for callee in evaluator.values(node.func, frame):
        arguments = evaluator.arguments(node, frame)
        if isinstance(callee, External) and callee.name in OPENERS:
            given = (arguments.get(None, keyword) for keyword in OPENED_KEYWORDS)
            return arguments.get(0, "file") or next((source for source in given if source is not None), None)
        if isinstance(callee, Member) and callee.name in OPENING_METHODS and isinstance(node.func, ast.Attribute):
            return Source(node.func.value, frame)
    return None


_Parts = tuple[list[tuple[list[ast.expr], ast.expr]], list[ast.Call], frozenset[str]]


class _Flow:
    """Follows a constructor's parameter through a class to a call that opens it."""

    def __init__(self, evaluator: Evaluator, cls: Class, depth: int = 0) -> None:
        self.evaluator = evaluator
        self.cls = cls
        self.depth = depth
        self.is_named = False
        """Whether the parameter's name says that it is a path: then it is what is opened of a dict that holds it."""
        self.attributes: set[str] = set()
        self.makers: set[str] = set()
        """The methods and properties that return the path, or what is joined to it."""
        self.seen: set[tuple[int, str]] = set()

    def opens(self, name: str) -> bool:
        self.is_named = bool(PATH_PARAMETERS.search(name))
        init = classes.find_method(self.evaluator, self.cls, "__init__")
        if init is None:
            if not classes.is_record(self.evaluator, self.cls):
                return self.is_named
            self.attributes.add(name)
            made = classes.find_method(self.evaluator, self.cls, "__post_init__")
            if made is not None and self._function(made.scope, set()):
                return True
        elif self._function(init.scope, {name}):
            return True
        if not self.attributes:
            return False
        methods = [
            cls.scope.module.scopes[node]
            for cls in classes.project_classes(self.evaluator, self.cls)
            for node in cls.node.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for _ in range(2):
            self.makers.update(scope.name for scope in methods if self._returns(scope))
            if any(self._function(scope, set()) for scope in methods):
                return True
            self.seen.clear()
        return False

    def _function(self, scope: Scope, names: set[str], depth: int = 0) -> bool:
        """Whether a function opens one of its names, or an attribute that holds the path."""
        key = (id(scope), ",".join(sorted(names)))
        if key in self.seen or depth > 4:
            return False
        self.seen.add(key)
        assignments, calls, mentioned = _assignments_and_calls(scope)
        if not names and self._kept().isdisjoint(mentioned):
            return False
        names = set(names)
        receiver = receiver_name(scope)
        for targets, value in assignments:
            self._assign(targets, value, names, receiver)
        return any(self._call(node, scope, names, receiver, depth) for node in calls)

    def _kept(self) -> set[str]:
        return self.makers.union(name.partition(".[")[0].rpartition(".")[2] for name in self.attributes)

    def _returns(self, scope: Scope) -> bool:
        assignments, _, mentioned = _assignments_and_calls(scope)
        if not scope.returns or self._kept().isdisjoint(mentioned):
            return False
        names: set[str] = set()
        kept = set(self.attributes)
        for targets, value in assignments:
            self._assign(targets, value, names, receiver_name(scope))
        found = any(r.value is not None and self._carries(r.value, names, receiver_name(scope)) for r in scope.returns)
        self.attributes = kept
        return found

    def _assign(self, targets: list[ast.expr], value: ast.expr, names: set[str], receiver: str) -> None:
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for inner, part in zip(target.elts, value.elts, strict=True):
                    self._assign([inner], part, names, receiver)
            elif isinstance(target, ast.Name):
                names.update(f"{target.id}.{field}" for field in self._fields(value, names, receiver))
                if self._carries(value, names, receiver):
                    names.add(target.id)
                elif self._resolves(value, names, receiver):
                    names.discard(target.id)
            elif isinstance(target, ast.Attribute) and _is_attribute(target, receiver):
                self.attributes.update(f"{target.attr}.{field}" for field in self._fields(value, names, receiver))
                if self._resolves(value, names, receiver):
                    self.attributes.discard(target.attr)
                elif self._carries(value, names, receiver):
                    self.attributes.add(target.attr)
            elif isinstance(target, ast.Subscript) and _is_join(value):
                self._assign([target.value], value, names, receiver)

    def _fields(self, value: ast.expr, names: set[str], receiver: str) -> list[str]:
        """The fields of an object that hold the path: of `config`, where `config.root` does."""
        if not isinstance(value, ast.Name | ast.Attribute):
            return []
        text = f"{dotted(value)}."
        known = [*names, *(f"{receiver or 'self'}.{name}" for name in self.attributes)]
        return [name.removeprefix(text) for name in known if name.startswith(text)]

    def _carries(self, node: ast.expr, names: set[str], receiver: str) -> bool:
        """Whether an expression is the path, or begins with it."""
        if isinstance(node, ast.Name):
            return node.id in names
        if isinstance(node, ast.Attribute):
            if _is_attribute(node, receiver):
                return node.attr in self.attributes | self.makers
            text = dotted(node)
            return text in names or text.removeprefix(f"{receiver or 'self'}.") in self.attributes
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._carries(node.elt, names, receiver)
        if isinstance(node, ast.Dict | ast.DictComp) and self.is_named:
            held = node.values if isinstance(node, ast.Dict) else [node.value]
            return any(self._carries(value, names, receiver) for value in held)
        if isinstance(node, ast.Subscript | ast.Call) and (read := field_read(node)):
            text = ".".join(read)
            if text in names or text.removeprefix(f"{receiver or 'self'}.") in self.attributes:
                return True
        if isinstance(node, ast.Subscript):
            return self._carries(node.value, names, receiver)
        if isinstance(node, ast.BinOp):
            return self._carries(node.left, names, receiver)
        if isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            return isinstance(first, ast.FormattedValue) and self._carries(first.value, names, receiver)
        if isinstance(node, ast.IfExp):
            return self._carries(node.body, names, receiver) or self._carries(node.orelse, names, receiver)
        if isinstance(node, ast.BoolOp):
            return any(self._carries(value, names, receiver) for value in node.values)
        if isinstance(node, ast.Call):
            function: Any = node.func
            last = last_name(function)
            if _is_attribute(function, receiver) and last in self.makers:
                return True
            if last in ("abspath", "realpath", "resolve", "absolute"):
                return False
            is_method = isinstance(function, ast.Attribute) and last in PASSING_METHODS
            if is_method and self._carries(function.value, names, receiver):
                return True
            if last in ("tuple", "list", "sorted", "set", "iter", "reversed"):
                return bool(node.args) and self._carries(node.args[0], names, receiver)
            if last in ("join", "Path", "PurePath", "str", "expanduser", "normpath", "fspath", "format"):
                return bool(node.args) and self._carries(node.args[0], names, receiver)
            if last == "dict" and self.is_named:
                pairs = [part.elt for part in node.args if isinstance(part, ast.GeneratorExp | ast.ListComp)]
                held = [pair.elts[-1] for pair in pairs if isinstance(pair, ast.Tuple)]
                held += [keyword.value for keyword in node.keywords]
                return any(self._carries(value, names, receiver) for value in held)
        return False

    def _resolves(self, node: ast.expr, names: set[str], receiver: str) -> bool:
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        inner = [*node.args[:1], *([function.value] if isinstance(function, ast.Attribute) else [])]
        return last in ("abspath", "realpath", "resolve", "absolute") and any(
            self._carries(part, names, receiver) or self._resolves(part, names, receiver) for part in inner
        )

    def _call(self, node: ast.Call, scope: Scope, names: set[str], receiver: str, depth: int) -> bool:
        function: Any = node.func
        is_method = isinstance(function, ast.Attribute) and function.attr in LOOKING_METHODS
        if is_method and self._carries(function.value, names, receiver):
            return True
        given: list[tuple[int | None, str]] = [
            (index, "") for index, part in enumerate(node.args) if self._carries(part, names, receiver)
        ]
        given += [(None, k.arg) for k in node.keywords if k.arg and self._carries(k.value, names, receiver)]
        if not given:
            return False
        frame = self.evaluator.frame_at(node, scope.module)
        return any(self._given(callee, given, depth) for callee in self.evaluator.values(function, frame))

    def _given(self, callee: Value, given: list[tuple[int | None, str]], depth: int) -> bool:
        if isinstance(callee, External):
            if callee.name in LOOKERS:
                return any(index == 0 or name in OPENED_KEYWORDS for index, name in given)
            if callee.name.endswith(".__init__"):
                first = self.depth == 0 and not callee.name.startswith("builtins.")
                return any((first and index == 0) or bool(PATH_PARAMETERS.search(name)) for index, name in given)
            return False
        target = callee
        if isinstance(callee, Class):
            found = classes.find_method(self.evaluator, callee, "__init__")
            if found is not None:
                inner = _Flow(self.evaluator, callee, self.depth + 1)
                return self.depth < 2 and any(inner.opens(p) for p in _names_of(found.scope, given, shift=1))
            return False
        if isinstance(callee, Method):
            target = callee.function
            return self._function(target.scope, set(_names_of(target.scope, given, shift=1)), depth + 1)
        if isinstance(target, Function):
            return self._function(target.scope, set(_names_of(target.scope, given, shift=0)), depth + 1)
        return False


def _is_join(node: ast.expr) -> bool:
    """Whether a value is a path by the way in which it is made: then what holds it holds paths."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("join", "joinpath", "Path")
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _assignments_and_calls(scope: Scope) -> _Parts:
    """What a function gives names, its calls, and the attributes that it mentions, in source order."""
    key = ("assignments and calls", scope.node)
    if key not in scope.module.memo:
        assert isinstance(scope.node, FUNCTIONS)
        nodes = body_nodes(scope.node)
        assignments: list[tuple[list[ast.expr], ast.expr]] = []
        for node in nodes:
            if isinstance(node, ast.Assign):
                assignments.append((node.targets, node.value))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                assignments.append(([node.target], node.value))
            elif isinstance(node, ast.For | ast.comprehension):
                assignments.append(([node.target], node.iter))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        mentioned = frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))
        scope.module.memo[key] = (assignments, calls, mentioned)
    known: _Parts = scope.module.memo[key]
    return known


_OPENER_NAMES = frozenset(name.rpartition(".")[2] for name in OPENERS) | OPENING_METHODS


def _names_of_openers(module: Module) -> frozenset[str]:
    """The names by which a module may call something that opens a file."""
    key = ("openers",)
    if key not in module.memo:
        renamed = {
            name
            for name, bindings in module.scope.bindings.items()
            for binding in bindings
            if binding.kind == "from" and getattr(binding.node, "name", "") in _OPENER_NAMES
        }
        module.memo[key] = _OPENER_NAMES | renamed
    known: frozenset[str] = module.memo[key]
    return known


def _names_of(scope: Scope, given: list[tuple[int | None, str]], shift: int) -> list[str]:
    assert isinstance(scope.node, FUNCTIONS)
    known = parameters(scope.node)
    return [
        parameter.name
        for index, name in given
        for parameter in known.values()
        if parameter.name == name or (index is not None and parameter.index == index + shift)
    ]


def _is_attribute(node: Any, receiver: str) -> bool:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == (receiver or "self")
    )
