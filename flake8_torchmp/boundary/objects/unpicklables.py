"""What cannot be pickled, as a table: calls of the standard library and others by what they make.

Learned by pickling one of each under CPython 3.11; those of libraries that were not at hand from their issue trackers.
"""

from __future__ import annotations

import ast

from flake8_torchmp.boundary.circumstances.methods import mp_name
from flake8_torchmp.boundary.tables.apis import PROCESS_CLASSES
from flake8_torchmp.boundary.tables.openers import is_path
from flake8_torchmp.semantics.builtin import ANY
from flake8_torchmp.semantics.evaluate import Evaluator
from flake8_torchmp.semantics.module import Module
from flake8_torchmp.semantics.nodes import last_name, up
from flake8_torchmp.semantics.values import (
    Collection,
    External,
    Function,
    Member,
    Method,
    ModuleValue,
    Result,
    Unknown,
    Value,
    qualified,
)

UNPICKLABLES: dict[str, str] = {
    **dict.fromkeys(
        "threading.Lock threading.RLock threading.Condition threading.Event threading.Semaphore "
        "threading.BoundedSemaphore threading.Barrier _thread.allocate_lock".split(),
        "a thread's lock",
    ),
    **dict.fromkeys(("threading.Thread", "threading.Timer"), "a thread"),
    "threading.local": "a threading.local",
    **dict.fromkeys(
        "concurrent.futures.ThreadPoolExecutor concurrent.futures.thread.ThreadPoolExecutor "
        "concurrent.futures.ProcessPoolExecutor concurrent.futures.process.ProcessPoolExecutor".split(),
        "an executor",
    ),
    **dict.fromkeys(
        "multiprocessing.pool.ThreadPool torch.multiprocessing.pool.ThreadPool multiprocessing.dummy.Pool".split(),
        "a pool of threads",
    ),
    **dict.fromkeys(
        "queue.Queue queue.LifoQueue queue.PriorityQueue queue.SimpleQueue _queue.SimpleQueue".split(),
        "a queue of threads",
    ),
    **dict.fromkeys("csv.reader csv.writer csv.DictReader csv.DictWriter".split(), "a csv reader or writer"),
    **dict.fromkeys("os.scandir os.walk os.fwalk glob.iglob re.finditer".split(), "an iterator over files or matches"),
    **dict.fromkeys("contextvars.ContextVar contextvars.copy_context".split(), "a context variable"),
    "types.MappingProxyType": "a mapping proxy",
    **dict.fromkeys(("importlib.import_module", "builtins.__import__"), "a module"),
    **dict.fromkeys(("weakref.ref", "weakref.WeakValueDictionary", "weakref.WeakKeyDictionary"), "a weak reference"),
    **dict.fromkeys(("subprocess.Popen", "os.popen"), "a running command"),
    **dict.fromkeys(
        "selectors.DefaultSelector selectors.EpollSelector selectors.KqueueSelector select.epoll select.poll".split(),
        "a selector",
    ),
    **dict.fromkeys(("ssl.SSLContext", "ssl.create_default_context"), "an SSL context"),
    **dict.fromkeys(
        "logging.StreamHandler logging.FileHandler logging.handlers.RotatingFileHandler logging.handlers.QueueHandler "
        "logging.handlers.TimedRotatingFileHandler logging.handlers.QueueListener".split(),
        "a logging handler",
    ),
    **dict.fromkeys(("asyncio.new_event_loop", "asyncio.get_event_loop"), "an event loop"),
    **dict.fromkeys(("concurrent.futures.Future", "asyncio.run_coroutine_threadsafe"), "a future"),
    "struct.Struct": "a compiled struct",
    **dict.fromkeys(
        "hashlib.new hashlib.md5 hashlib.sha1 hashlib.sha224 hashlib.sha256 hashlib.sha384 hashlib.sha512 "
        "hashlib.blake2b hashlib.blake2s hmac.new".split(),
        "a running digest",
    ),
    **dict.fromkeys("zlib.compressobj zlib.decompressobj bz2.BZ2Decompressor lzma.LZMADecompressor".split(), "a codec"),
    "builtins.memoryview": "a view of memory",
    **dict.fromkeys(
        "re.match re.search re.fullmatch re.compile().match re.compile().search re.compile().fullmatch".split(),
        "a match",
    ),
    **dict.fromkeys(
        "ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.PyDLL numpy.ctypeslib.load_library".split(), "a library"
    ),
    **dict.fromkeys(("ctypes.pointer", "ctypes.byref"), "a pointer"),
    **dict.fromkeys("numpy.nditer numpy.ndenumerate".split(), "an iterator over an array"),
    **dict.fromkeys(
        "torch.jit.script torch.jit.trace torch.jit.load torch.jit.freeze torch.jit.optimize_for_inference".split(),
        "a scripted module",
    ),
    "random.SystemRandom": "a source of the system's randomness",
    "json.JSONDecoder": "a JSON decoder",
    "weakref.WeakSet": "a weak set",
    "onnxruntime.InferenceSession": "an inference session",
    "fasttext.load_model": "a fasttext model",
    **dict.fromkeys("filelock.FileLock filelock.SoftFileLock filelock.UnixFileLock".split(), "a file lock"),
    **dict.fromkeys(
        "jinja2.Template jinja2.Environment().from_string jinja2.Environment().get_template".split(),
        "a jinja2 template",
    ),
    **dict.fromkeys("lxml.etree.parse lxml.etree.fromstring lxml.etree.HTML".split(), "an lxml tree"),
    **dict.fromkeys(
        "cv2.createCLAHE cv2.cuda.createCLAHE cv2.CascadeClassifier cv2.HOGDescriptor cv2.BFMatcher "
        "cv2.BFMatcher_create cv2.FlannBasedMatcher cv2.FlannBasedMatcher_create cv2.SIFT_create cv2.SIFT.create "
        "cv2.ORB_create cv2.ORB.create cv2.AKAZE_create cv2.BRISK_create cv2.KAZE_create cv2.MSER_create "
        "cv2.GFTTDetector_create cv2.FastFeatureDetector_create cv2.SimpleBlobDetector_create "
        "cv2.xfeatures2d.SIFT_create cv2.xfeatures2d.SURF_create cv2.createBackgroundSubtractorMOG2 "
        "cv2.createBackgroundSubtractorKNN cv2.DISOpticalFlow_create cv2.QRCodeDetector cv2.dnn.readNet "
        "cv2.dnn.readNetFromCaffe "
        "cv2.dnn.readNetFromDarknet cv2.dnn.readNetFromONNX cv2.dnn.readNetFromTensorflow cv2.FaceDetectorYN.create "
        "cv2.saliency.StaticSaliencySpectralResidual_create cv2.VideoWriter cv2.KeyPoint".split(),
        "an object of OpenCV",
    ),
    **dict.fromkeys(
        "open3d.geometry.PointCloud open3d.geometry.TriangleMesh open3d.geometry.LineSet open3d.geometry.KDTreeFlann "
        "open3d.geometry.VoxelGrid open3d.geometry.Octree open3d.io.read_point_cloud open3d.io.read_triangle_mesh "
        "open3d.visualization.SelectionPolygonVolume open3d.visualization.Visualizer".split(),
        "an object of Open3D",
    ),
    **dict.fromkeys("fugashi.Tagger fugashi.GenericTagger MeCab.Tagger MeCab.Model".split(), "a tagger of MeCab"),
    **dict.fromkeys("jieba.Tokenizer jieba.posseg.POSTokenizer".split(), "a tokenizer of jieba"),
    **dict.fromkeys("rich.console.Console rich.progress.Progress rich.live.Live".split(), "a console of rich"),
    "annoy.AnnoyIndex": "an index of Annoy",
    **dict.fromkeys(
        "mediapipe.solutions.hands.Hands mediapipe.solutions.face_mesh.FaceMesh mediapipe.solutions.pose.Pose "
        "mediapipe.solutions.holistic.Holistic mediapipe.solutions.face_detection.FaceDetection "
        "mediapipe.solutions.selfie_segmentation.SelfieSegmentation".split(),
        "a graph of MediaPipe",
    ),
    "webrtcvad.Vad": "a voice detector of webrtcvad",
}
BOUND_FUNCTIONS = dict.fromkeys(
    "jieba.cut jieba.lcut jieba.cut_for_search jieba.lcut_for_search jieba.tokenize".split(),
    "a method of jieba's tokenizer",
)
"""Functions of libraries that are methods of an object which cannot be pickled."""
LOST_AT_START = dict.fromkeys(("torch.Generator", "torch.Generator().manual_seed"), "a torch.Generator")
"""What tasks may carry, but no starting process: its state is in memory that the parent gives back too early."""
_ENTRIES = "a directory's entry"
_DICTS = frozenset(
    "collections.defaultdict() json.load() json.loads() tomllib.load() toml.load() yaml.safe_load()".split()
)
"""Calls whose results, where they have keys, are dicts."""
LISTINGS = (".iterdir", ".glob", ".rglob")
MODULES = frozenset(
    "os.path torch.nn.functional torchvision.transforms torchvision.transforms.functional torch.multiprocessing "
    "torchvision.transforms.v2 torchvision.transforms.v2.functional scipy.ndimage torch.utils.data".split()
)
"""What a `from … import` brings that is a module; by `import …` it is one in any case."""


class Unpicklables:
    def __init__(self, evaluator: Evaluator, further: tuple[str, ...]) -> None:
        self.evaluator = evaluator
        self.table = {**UNPICKLABLES, **{name: f"a {name.rpartition('.')[2]}" for name in further}}

    def lost_at_start(self, value: Value) -> str:
        return LOST_AT_START.get(value.name, "") if isinstance(value, Result) else ""

    def text_of(self, value: Value, node: ast.expr | None, module: Module | None) -> str:
        """What a value is that cannot be pickled, in words, or nothing. `node` is what was stored, if known."""
        if isinstance(value, Result):
            return self._of_result(value)
        if isinstance(value, Collection):
            return _of_collection(value) or self._of_entries(value)
        if isinstance(value, Member):
            return _ENTRIES if value.is_element and qualified(value.owner) == "os.scandir()" else ""
        if isinstance(value, ModuleValue):
            return f"the module {value.name}"
        if isinstance(value, External):
            if value.name in BOUND_FUNCTIONS:
                return BOUND_FUNCTIONS[value.name]
            if value.name.endswith(f".{ANY}"):
                return ""  # `getattr(torch, name)`: seldom a module
            is_module = isinstance(up(value.node), ast.Import) or value.name in MODULES
            is_module = is_module and isinstance(value.node, ast.alias)
            asked = value.node.func if isinstance(value.node, ast.Call) else None
            is_module = is_module or (asked is not None and last_name(asked) == "import_module")
            return f"the module {value.name}" if is_module else ""
        if isinstance(value, Unknown) and isinstance(node, ast.Call) and last_name(node.func) in ("iterdir", "rglob"):
            function = node.func
            if module is not None and isinstance(function, ast.Attribute):
                owners = self.evaluator.values(function.value, self.evaluator.frame_at(node, module))
                return "a generator" if all(isinstance(owner, Unknown) for owner in owners) else ""
        return ""

    def _of_entries(self, value: Collection) -> str:
        """`sorted(os.scandir(root), key=name)`."""
        copied = value.node.args[:1] if isinstance(value.node, ast.Call) and not value.complete else []
        lists = [v for node in copied for v in self.evaluator.values(node, self.evaluator.frame_at(node, value.module))]
        return _ENTRIES if any(qualified(v) == "os.scandir()" for v in lists) else ""

    def _of_result(self, value: Result) -> str:
        callee = value.callee
        if value.name in self.table:
            return self.table[value.name]
        if value.name.endswith("Executor().submit"):
            return "a future"
        if isinstance(callee, Function | Method):
            return "a generator"
        name = mp_name(callee)
        if name in ("Manager", "SyncManager", "Pool"):
            return "a manager of processes" if name != "Pool" else "a pool of processes"
        if name in PROCESS_CLASSES:
            return "a process"
        if isinstance(callee, Member):
            if callee.name in ("keys", "items", "values") and _is_dict(callee.owner):
                return "a view of a dict"
            if value.name.endswith(LISTINGS) and is_path(callee.owner):
                return "a generator"
        return ""


def _is_dict(value: Value) -> bool:
    return value.kind == "dict" if isinstance(value, Collection) else qualified(value) in _DICTS


def _of_collection(value: Collection) -> str:
    if value.kind == "generator":
        return "a generator"
    if isinstance(value.node, ast.Call):
        name = last_name(value.node.func)
        if name == "MappingProxyType":
            return "a mapping proxy"
        if name == "values" and isinstance(value.node.func, ast.Attribute) and not value.node.args:
            return "a view of a dict"
    return ""
