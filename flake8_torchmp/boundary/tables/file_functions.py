"""What works on paths and files: tables of functions, methods and names."""

from __future__ import annotations

import re

PATH_CLASSES = frozenset(
    f"pathlib.{name}" for name in ("Path", "PurePath", "PosixPath", "WindowsPath", "PurePosixPath")
)
PASSING = frozenset(
    "os.path.join os.path.normpath os.path.normcase os.path.dirname os.fspath builtins.str "
    "os.path.splitext posixpath.join".split()
)
"""Functions whose result is as relative as their first argument."""
PASSING_METHODS = frozenset(
    "joinpath with_suffix with_name with_stem as_posix expanduser format rstrip strip replace relative_to".split()
)
KEEPING_METHODS = frozenset("joinpath with_suffix with_name with_stem expanduser relative_to".split())
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
