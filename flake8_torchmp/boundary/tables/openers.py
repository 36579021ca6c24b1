"""Calls that open a resource, as a table: what they open, and what taken out of it still hangs on it.

Learned from the documentation of the libraries, and from what pickle says of their objects (h5py 3, lmdb 1, CPython
3.11; for libraries that were not at hand, from their sources and issue trackers).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from flake8_torchmp.semantics.builtin import ENTERING
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.flow import is_in_handler
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import FUNCTIONS, ancestors, dotted, last_name, position, up
from flake8_torchmp.semantics.values import (
    EACH,
    INSIDE,
    Constant,
    External,
    Member,
    Result,
    Source,
    Unknown,
    Value,
    qualified,
)


class Opener(NamedTuple):
    """What a call opens."""

    text: str
    gives: frozenset[str] = frozenset()
    """Attributes and methods that give something which still reads from it; `*` is any."""
    pickles: bool = False
    """Whether it can be pickled all the same."""
    is_opened_at_once: bool = True
    """Or only when it is first used, as a session is."""
    forks: bool = False
    """Whether it opens connections of its own in a forked process."""
    opens_once: bool = False
    """Whether a process opens it only once, and a forked one has to close what it inherits before."""
    asked_by: tuple[tuple[str, int | None], ...] = ()
    """The options, with their places, one of which asks for it to stay open; else it is read whole."""


def _rows(names: str, text: str, gives: str = "", **traits: Any) -> dict[str, Opener]:
    return dict.fromkeys(names.split(), Opener(text, frozenset(gives.split()), **traits))


_TREE = (
    "[…] get attrs values items keys create_group require_group create_dataset require_dataset parent file root "
    "variables groups"
)
_CURSORS = "cursor execute executemany executescript begin iterdump backup connect"

OPENERS: dict[str, Opener] = {
    **_rows(
        "builtins.open io.open io.FileIO codecs.open gzip.open gzip.GzipFile bz2.open bz2.BZ2File lzma.open "
        "lzma.LZMAFile os.fdopen tempfile.TemporaryFile tempfile.NamedTemporaryFile tempfile.SpooledTemporaryFile "
        "smart_open.open smart_open.smart_open tensorflow.io.gfile.GFile wave.open fileinput.input",
        "file",
        "buffer raw detach",
    ),
    **_rows("h5py.File tables.open_file tables.openFile pandas.HDFStore netCDF4.Dataset", "HDF5 file", _TREE),
    **_rows(
        "anndata.read_h5ad anndata.read scanpy.read scanpy.read_h5ad",
        "HDF5 file",
        "[…] X raw layers file",
        asked_by=(("backed", 1),),
    ),
    **_rows("lmdb.open lmdb.Environment", "database", "begin cursor open_db", opens_once=True),
    **_rows(
        "plyvel.DB leveldb.LevelDB rocksdb.DB rocksdict.Rdict shelve.open dbm.open dbm.gnu.open dbm.ndbm.open",
        "database",
        "begin cursor open_db iterator snapshot prefixed_db",
    ),
    **_rows(
        "sqlite3.connect sqlite3.dbapi2.connect sqlite3.Connection psycopg2.connect psycopg.connect pymysql.connect "
        "MySQLdb.connect mysql.connector.connect pyodbc.connect cx_Oracle.connect oracledb.connect duckdb.connect "
        "apsw.Connection psycopg2.pool.SimpleConnectionPool psycopg2.pool.ThreadedConnectionPool snowflake.connector."
        "connect clickhouse_driver.Client cassandra.cluster.Cluster",
        "database connection",
        _CURSORS + " getconn",
    ),
    **_rows("sqlalchemy.create_engine sqlalchemy.engine.create_engine", "database engine", "connect raw_connection"),
    **_rows(
        "redis.Redis redis.StrictRedis redis.from_url redis.Redis.from_url redis.StrictRedis.from_url "
        "redis.client.Redis",
        "database client",
        "*",
        forks=True,
    ),
    **_rows(
        "pymongo.MongoClient pymongo.mongo_client.MongoClient elasticsearch.Elasticsearch "
        "pymemcache.client.base.Client happybase.Connection",
        "database client",
        "*",
    ),
    **_rows("zipfile.ZipFile zipfile.PyZipFile zipfile.Path", "archive", "open fp"),
    **_rows("tarfile.open tarfile.TarFile tarfile.TarFile.open", "archive", "extractfile fileobj"),
    **_rows("rarfile.RarFile py7zr.SevenZipFile libarchive.file_reader", "archive", "open"),
    **_rows("mmap.mmap", "memory map of a file", forks=True),
    **_rows("os.open", "file descriptor", pickles=True),
    **_rows("socket.socket socket.create_connection socket.socketpair", "socket", "makefile", pickles=True),
    **_rows("http.client.HTTPConnection http.client.HTTPSConnection urllib.request.urlopen", "connection", "*"),
    **_rows("ftplib.FTP ftplib.FTP_TLS paramiko.SSHClient smtplib.SMTP telnetlib.Telnet", "connection", "open_sftp"),
    **_rows(
        "requests.Session requests.session requests.sessions.Session",
        "HTTP session",
        pickles=True,
        is_opened_at_once=False,
    ),
    **_rows("httpx.Client httpx.AsyncClient aiohttp.ClientSession urllib3.PoolManager", "HTTP client", forks=True),
    **_rows(
        "boto3.client boto3.resource boto3.session.Session boto3.Session boto3.Session().client",
        "AWS client",
        "*",
        forks=True,
    ),
    **_rows(
        "google.cloud.storage.Client azure.storage.blob.BlobServiceClient minio.Minio",
        "storage client",
        "*",
        forks=True,
    ),
    **_rows("grpc.insecure_channel grpc.secure_channel grpc.aio.insecure_channel", "gRPC channel", "*"),
    **_rows("zmq.Context zmq.Context.instance", "ZeroMQ context", "socket"),
    **_rows(
        "cv2.VideoCapture decord.VideoReader decord.AudioReader decord.AVReader av.open imageio.get_reader "
        "imageio.v2.get_reader imageio.v3.imopen torchvision.io.VideoReader moviepy.editor.VideoFileClip "
        "eva_decord.VideoReader torchcodec.decoders.VideoDecoder",
        "video reader",
        "streams demux decode",
    ),
    **_rows(
        "pyarrow.memory_map pyarrow.OSFile pyarrow.PythonFile pyarrow.input_stream pyarrow.parquet.ParquetFile "
        "pyarrow.ipc.open_file pyarrow.ipc.open_stream pyarrow.ipc.RecordBatchFileReader pyarrow.feather.FeatherReader "
        "pyarrow.fs.HadoopFileSystem",
        "Arrow file",
        "reader",
    ),
    **_rows(
        "rasterio.open osgeo.gdal.Open gdal.Open openslide.OpenSlide openslide.open_slide tiffslide.TiffSlide "
        "tifffile.TiffFile pyvips.Image.new_from_file",
        "image file",
        "pages series",
    ),
    **_rows(
        "large_image.open large_image.getTileSource large_image.tilesource.open large_image.tilesource.getTileSource",
        "image file",
        pickles=True,
    ),
    **_rows(
        "pandas.read_csv pandas.read_table pandas.read_json",
        "file",
        asked_by=(("chunksize", None), ("iterator", None)),
    ),
    **_rows("zarr.ZipStore zarr.storage.ZipStore", "archive", "[…] get", pickles=True),
    **_rows("laspy.open laspy.LasReader", "point cloud", "chunk_iterator"),
    **_rows(
        "rdkit.Chem.SDMolSupplier rdkit.Chem.SmilesMolSupplier rdkit.Chem.ForwardSDMolSupplier "
        "rdkit.Chem.Mol2MolSupplier rdkit.Chem.MaeMolSupplier",
        "file of molecules",
    ),
    **_rows("soundfile.SoundFile audioread.audio_open sphfile.SPHFile", "sound file"),
    **_rows("pysam.AlignmentFile pysam.FastaFile pysam.VariantFile pyfaidx.Fasta pyBigWig.open", "genome file", "[…]"),
    **_rows(
        "torch.utils.tensorboard.SummaryWriter torch.utils.tensorboard.writer.SummaryWriter tensorboardX.SummaryWriter",
        "summary writer",
    ),
}

PATHS = ("pathlib.Path", "pathlib.PosixPath", "operator.truediv()", "upath.UPath", "anyio.Path")
STREAMS = frozenset(
    f"sys.{name}{inner}"
    for name in ("stdin", "stdout", "stderr", "__stdout__", "__stderr__")
    for inner in ("", ".buffer")
)
_STREAM = Opener("standard stream", forks=True)
_FILE = OPENERS["builtins.open"]
_ARCHIVE_OF_ARRAYS = Opener("npz archive")
_MODES = frozenset("r rb rt r+ rb+ r+b w wb wt w+ wb+ w+b a ab at a+ ab+ a+b x xb".split())

WRAPPERS = frozenset(
    "builtins.enumerate builtins.map builtins.filter builtins.zip builtins.iter csv.reader csv.DictReader csv.writer "
    "csv.DictWriter io.TextIOWrapper io.BufferedReader io.BufferedRandom io.BufferedWriter itertools.islice "
    "itertools.chain itertools.cycle itertools.groupby gzip.GzipFile zipfile.ZipFile tarfile.open codecs.getreader "
    "sqlalchemy.orm.sessionmaker sqlalchemy.orm.Session sqlalchemy.orm.scoped_session contextlib.closing zarr.open "
    "zarr.group zarr.open_group zarr.open_array zarr.Group zarr.Array "
    "PIL.ImageSequence.Iterator json.JSONDecoder ijson.items ijson.parse".split()
)
"""What is made of a handle and reads from it."""

CLOSERS = frozenset("close disconnect shutdown dispose release stop terminate closeall __exit__ finish quit".split())


_METHODS = frozenset("read readline readinto write writelines seek execute send sendall recv getmember".split())
"""Of handles: what keeps such a method, uncalled, keeps the handle."""


class Handle(NamedTuple):
    """A value that is an open resource, or hangs on one."""

    opener: Opener
    node: ast.AST
    """The call that opened it, or where it is named."""
    module: Module


class Openers:
    def __init__(self, evaluator: Evaluator, further: tuple[str, ...]) -> None:
        self.evaluator = evaluator
        self.table = {**OPENERS, **dict.fromkeys(further, Opener("resource", frozenset("*")))}

    def handles(self, value: Value, depth: int = 0) -> Iterator[Handle]:
        """The resources that a value is or reads from."""
        if depth > 6:
            return
        if isinstance(value, Member):
            yield from (
                self.handles(value.owner, depth + 1)
                if value.name in _METHODS
                else self._through(value.owner, value.name, depth)
            )
        elif isinstance(value, External) and value.name in STREAMS:
            yield Handle(_STREAM, value.node, value.module)
        elif isinstance(value, Result):
            opener = self._opener(value)
            if opener is not None:
                yield Handle(opener, value.arguments.call, value.arguments.frame.module)
            elif isinstance(value.callee, Member):
                yield from self._through(value.callee.owner, value.callee.name, depth)
            elif value.name in WRAPPERS:
                for _, source in value.arguments.all():
                    for inner in self.evaluator.of(source):
                        yield from self.handles(inner, depth + 1)

    def _through(self, owner: Value, name: str, depth: int) -> Iterator[Handle]:
        if name == EACH:
            view = owner.callee if isinstance(owner, Result) else None
            if not isinstance(view, Member) or view.name != "values":
                return  # a loop gives names, rows, lines
            name, owner = INSIDE, view.owner
        if name in (INSIDE, "get") and isinstance(owner, Member) and owner.name == "attrs":
            return  # numbers and texts
        for handle in self.handles(owner, depth + 1):
            if name in handle.opener.gives or "*" in handle.opener.gives:
                yield handle

    def _opener(self, value: Result) -> Opener | None:
        found = self.table.get(value.name)
        if found is not None:
            return found if self._opens(value, found) else None
        if value.name == "numpy.load":
            return _ARCHIVE_OF_ARRAYS if _reads_npz(value) or self._is_given_npz(value) else None
        if value.name.endswith(".open") and isinstance(value.callee, Member):
            return _FILE if is_path(value.callee.owner) else None
        return None

    def _opens(self, value: Result, opener: Opener) -> bool:
        """Whether it opens a file, and does not read one whole or take the standard input."""
        if value.name == "fileinput.input":
            return bool(value.arguments.positional)
        asked = (value.arguments.get(index, name) for name, index in opener.asked_by)
        return not opener.asked_by or any(map(self._is_on, asked))

    def _is_on(self, option: Source | None) -> bool:
        """Whether an option is given, and is nothing but true."""
        given = self.evaluator.of(option) if option is not None else ()
        return bool(given) and all(isinstance(value, Constant) and bool(value.value) for value in given)

    def _is_given_npz(self, value: Result) -> bool:
        """Whether each path that the project shows, or the last part of it, ends so."""
        source = value.arguments.get(0, "file")
        paths = [self._last_part(path) for path in self.evaluator.of(source)] if source is not None else []
        return bool(paths) and all(name.endswith(".npz") for name in paths)

    def _last_part(self, path: Value) -> str:
        if isinstance(path, Result) and path.name in ("operator.truediv", "os.path.join") and path.arguments.positional:
            values = self.evaluator.of(path.arguments.positional[-1])
            path = values[0] if len(values) == 1 else path
        return str(path.value) if isinstance(path, Constant) else ""

    def unseen_file(self, node: ast.expr, module: Module) -> Iterator[tuple[Opener, ast.AST, Module]]:
        """`path.open("rb")` of a path that cannot be seen: the mode, or an annotation, says that it opens a file."""
        parts = _parts(node)
        if parts:
            for part in parts:
                yield from self.unseen_file(part, module)
            return
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "open":
            return
        base = node.func.value
        if not all(isinstance(v, Unknown) for v in self.evaluator.values(base, self.evaluator.frame_at(node, module))):
            return
        modes = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        if modes:
            opens = all(isinstance(mode, ast.Constant) and mode.value in _MODES for mode in modes)
        else:
            opens = isinstance(base, ast.Name) and _annotation(base, module) in ("Path", "pathlib.Path")
        if opens:
            yield _FILE, node, module


def _parts(node: ast.expr) -> list[ast.expr]:
    """What a display or comprehension is made of."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.ListComp | ast.SetComp):
        return [node.elt]
    return [node.value] if isinstance(node, ast.DictComp) else []


def is_path(owner: Value) -> bool:
    name = qualified(owner)
    return name.startswith(PATHS) or (isinstance(owner, External) and name.startswith("pathlib."))


def _annotation(name: ast.Name, module: Module) -> str:
    for binding in module.scope_of(name).bindings.get(name.id, ()):
        annotation = getattr(binding.node, "annotation", None)
        if annotation is not None:
            return dotted(annotation)
    return ""


def _reads_npz(value: Result) -> bool:
    """An `.npz` by its name, or asked for an array by its name: `np.load` keeps that file open."""
    call = value.arguments.call
    if not isinstance(call, ast.Call) or not call.args:
        return False
    if any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".npz")
        for node in ast.walk(call.args[0])
    ):
        return True
    holder = up(call)
    if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
        return False
    target = dotted(holder.targets[0])
    module = value.arguments.frame.module
    uses = [up(read) for read in module.read.get(target.rpartition(".")[2], ()) if dotted(read) == target]
    changed = [use for use in uses if isinstance(use, ast.Subscript) and not isinstance(use.ctx, ast.Load)]
    if any(module.scope_of(use) is module.scope_of(call) for use in changed):
        return False  # an archive can be changed by nobody
    return any(
        (isinstance(use, ast.Subscript) and isinstance(use.slice, ast.Constant) and isinstance(use.slice.value, str))
        or (isinstance(use, ast.Attribute) and use.attr in ("files", "keys", "items"))
        for use in uses
    )


def appends(node: ast.AST) -> bool:
    """`open(path, "a")`: each write goes to the file's end."""
    if not isinstance(node, ast.Call):
        return False
    modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and str(mode.value).startswith("a") for mode in modes)


def is_open(handle: Handle, uses: Sequence[ast.AST]) -> bool:
    """Whether something is still open where it is used: no `with` or `close()` of its function ends it before."""
    node, module = handle.node, handle.module
    holder = up(node)
    if isinstance(holder, ast.Call) and last_name(holder.func) == "closing":
        node, holder = holder, up(holder)
    if isinstance(holder, ast.withitem):
        return _is_inside(uses, up(holder))
    while isinstance(holder, ast.IfExp | ast.BoolOp | ast.Await):
        holder = up(holder)
    stack = ""
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute) and holder.func.attr in ENTERING:
        stack = dotted(holder.func.value)
        for outer in ancestors(holder):
            if isinstance(outer, ast.With | ast.AsyncWith) and any(
                item.optional_vars is not None and dotted(item.optional_vars) == stack for item in outer.items
            ):
                return _is_taken_over(stack, outer, module) or _is_inside(uses, outer)
        holder = up(holder)
    targets = holder.targets if isinstance(holder, ast.Assign) else [getattr(holder, "target", None)]
    names = {dotted(target) for target in targets if isinstance(target, ast.Name | ast.Attribute)}
    names = (names | {stack}) - {""}
    function = module.scope_of(node).enclosing_function()
    here = [use for use in uses if _function_around(use) is (function.node if function is not None else module.tree)]
    for call in (call for closer in CLOSERS for call in module.calls.get(closer, ())) if names else ():
        if (
            isinstance(call.func, ast.Attribute)
            and dotted(call.func.value) in names
            and module.scope_of(call).enclosing_function() is function
            and position(call) > position(node)
            and not is_in_handler(call)
            and not any(position(use) < position(call) for use in here)
        ):
            return False
    for name in sorted(names):
        for read in module.read.get(name.rpartition(".")[2], ()):
            item = up(read)
            is_entered = dotted(read) == name and isinstance(item, ast.withitem)
            if is_entered and module.scope_of(read).enclosing_function() is function:
                return _is_inside(uses, up(up(read) or read))
    return True


def _is_taken_over(stack: str, block: ast.With | ast.AsyncWith, module: Module) -> bool:
    """Whether `pop_all()` moves what a stack would close at the block's end to another one."""
    return any(
        isinstance(call.func, ast.Attribute) and dotted(call.func.value) == stack and _is_inside((call,), block)
        for call in module.calls.get("pop_all", ())
    )


def _is_inside(nodes: Sequence[ast.AST], block: ast.AST | None) -> bool:
    return any(outer is block for node in nodes for outer in ancestors(node))


def _function_around(node: ast.AST) -> ast.AST | None:
    return next((outer for outer in ancestors(node) if isinstance(outer, (*FUNCTIONS, ast.Module))), None)
