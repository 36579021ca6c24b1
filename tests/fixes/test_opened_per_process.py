"""Resources that datasets keep open become properties that open them in each process."""

from __future__ import annotations

import pytest
from fixes.mending import mended_text

HEAD = """\
import os

import h5py
from torch.utils.data import Dataset


class Features(Dataset):
"""
REST = """
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.data[index]
"""
PROPERTY = '''
    @property
    def {name}(self):
        """Opened once in each process."""
        if self.__dict__.get("_opened_{bare}_by") != os.getpid():
            self._opened_{bare} = {call}
            self._opened_{bare}_by = os.getpid()
        return self._opened_{bare}
'''
DERIVED = """
    @property
    def data(self):
        return {expression}
"""
STATE = """
    def __getstate__(self):
        return {{k: v for k, v in self.__dict__.items() if not k.startswith("_opened_")}}
"""


def fixed(text: str) -> str:
    assert mended_text(text) == text
    after = mended_text(text, unsafe=True)
    assert mended_text(after, unsafe=True) == after
    return after


def test_what_is_derived_goes_along() -> None:
    before = f"""{HEAD}    def __init__(self, path, key="x"):
        self.path = path
        self.file = h5py.File(path, "r")  # é
        self.data = self.file[key]
        self.count = len(self.data)
{REST}"""
    after = f"""{HEAD}    def __init__(self, path, key="x"):
        self.path = path
        self._data_key = key
        self.count = len(self.data)
{PROPERTY.format(name="file", bare="file", call='h5py.File(self.path, "r")  # é')}"""
    after += DERIVED.format(expression="self.file[self._data_key]") + STATE.format() + REST
    assert fixed(before) == after


def test_what_is_derived_in_pairs() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path)
        self.data, self.names = self.file["x"], self.file["names"]
{REST}"""
    after = fixed(before)
    assert DERIVED.format(expression='self.file["x"]') in after
    assert '    def names(self):\n        return self.file["names"]\n' in after
    assert fixed(before.replace('self.file["names"]', "path")) == before.replace('self.file["names"]', "path")


def test_two_have_one_state() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.data = h5py.File(path)
        self.masks = h5py.File(path + ".mask")
{REST}"""
    after = fixed(before)
    assert after.count("def __getstate__") == 1
    assert "self._opened_data = h5py.File" in after and "self._opened_masks = h5py.File" in after


def test_several_lines() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.path = path
        self.file = h5py.File(
            path,
            "r",
        )
{REST}"""
    after = f"""{HEAD}    def __init__(self, path):
        self.path = path
{PROPERTY.format(name="file", bare="file", call="h5py.File(self.path, 'r')")}{STATE.format()}{REST}"""
    call = 'h5py.File(\n                self.path,\n                "r",\n            )'
    assert fixed(before) == after.replace("h5py.File(self.path, 'r')", call)


def test_a_comment_ends_the_method() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.data = h5py.File(path)
        self.path = path
        # self.check()
{REST}"""
    after = f"""{HEAD}    def __init__(self, path):
        self._data_path = path
        self.path = path
        # self.check()
{PROPERTY.format(name="data", bare="data", call="h5py.File(self._data_path)")}{STATE.format()}{REST}"""
    assert fixed(before) == after


def test_two_imports_are_one_group() -> None:
    text = f"""{HEAD.removeprefix("import os" + chr(10) * 2)}    def __init__(self, path):
        self.file = h5py.File(path, "r")
{REST}

class Rows(IterableDataset):
    def __iter__(self):
        return iter([1, 2])


loader = DataLoader(Rows(), num_workers=2)
""".replace("import Dataset", "import DataLoader, Dataset, IterableDataset")
    assert fixed(text).startswith("import os\nfrom itertools import islice\n\nimport h5py\n")


def test_a_local_name_for_it() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        source = h5py.File(path)
        self.data = source.get("x")
        self.keys = list(source.keys())
{REST}"""
    after = f"""{HEAD}    def __init__(self, path):
        self._source_path = path
        self.keys = list(self._source.keys())
{PROPERTY.format(name="_source", bare="source", call="h5py.File(self._source_path)")}"""
    after += DERIVED.format(expression='self._source.get("x")') + STATE.format(bare="source") + REST
    assert fixed(before) == after


OPENED = "        self.data = h5py.File(path)\n\n"
LEFT = {
    "in a loop": "        for path in [path]:\n            self.data = h5py.File(path)\n",
    "on the line of a condition": "        if path: self.data = h5py.File(path)\n",
    "none on the line of a condition": (
        "        if not path: self.data = None\n        else:\n            self.data = h5py.File(path)\n"
    ),
    "a header read first": "        self.data = open(path)\n        self.header = self.data.readline()\n",
    "tried": "        try:\n            self.data = h5py.File(path)\n        except OSError:\n            raise\n",
    "in two places": "        self.data = h5py.File(path)\n        self.data = None\n",
    "in two ways": (
        "        if path:\n            self.data = h5py.File(path)\n        else:\n            self.data = []\n"
    ),
    "asked for by name": (
        "        if path:\n            self.data = h5py.File(path)\n\n"
        "    def close(self):\n        if hasattr(self, 'data'):\n            self.data.close()\n"
    ),
    "a default of the class": "        if path:\n            self.data = h5py.File(path)\n\n    data = ()\n",
    "a local name on a condition": (
        "        if path:\n            file = h5py.File(path)\n            self.data = file['x']\n"
    ),
    "beside a reduce": f"{OPENED}    def __reduce__(self):\n        return Features, ('a',)\n",
    "pickled otherwise": f"{OPENED}    def __getstate__(self):\n        return vars(self)\n",
    "pickled on a condition": (
        f"{OPENED}    def __getstate__(self):\n        state = dict(vars(self))\n"
        "        if 'data' in state:\n            del state['data']\n        return state\n"
    ),
    "taken out by a name": (
        f"{OPENED}    def __getstate__(self):\n        state = dict(vars(self))\n"
        "        for key in ('data', 'lock'):\n            state.pop(key)\n        return state\n"
    ),
    "opened by a helper": (
        f"{OPENED}    def __setstate__(self, state):\n        vars(self).update(state)\n        self.data.open()\n"
    ),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    text = f"{HEAD}    def __init__(self, path):\n{LEFT[case]}{REST}"
    assert fixed(text) == text


PICKLED = """
    def __getstate__(self):
        state = self.__dict__.copy()
{left_out}
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
{restored}"""
LEFT_OUT = {
    "        del state['data']  # é": (
        '        state.pop("_opened_data", None)\n        state.pop("_opened_data_by", None)  # é'
    ),
    '        state.pop("data", None)': (
        '        state.pop("_opened_data", None)\n        state.pop("_opened_data_by", None)'
    ),
    '        state["data"] = None': (
        '        state.pop("_opened_data", None)\n        state.pop("_opened_data_by", None)'
    ),
    "        state = {k: v for k, v in state.items() if k != 'data'}": (
        '        state = {k: v for k, v in state.items() if k not in ("_opened_data", "_opened_data_by")}'
    ),
    "        state = {k: v for k, v in state.items() if k not in ['data', 'lock']}": (
        '        state = {k: v for k, v in state.items() if k not in ["_opened_data", "_opened_data_by", \'lock\']}'
    ),
}


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_its_own_pickling(left_out: str) -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.path = path
        self.data = h5py.File(path)
"""
    before += (
        PICKLED.format(left_out=left_out, restored="        # open it\n        self.data = h5py.File(self.path)\n")
        + REST
    )
    after = f"""{HEAD}    def __init__(self, path):
        self.path = path
{PROPERTY.format(name="data", bare="data", call="h5py.File(self.path)")}"""
    after += PICKLED.format(left_out=LEFT_OUT[left_out], restored="        # open it\n") + REST
    assert fixed(before) == after


LAZY = """    def __init__(self, path):
        self.path = path
        self._file = None
        self.count = len(self.data)

    @property
    def data(self):
        if {test}:
            self._file = h5py.File(self.path)  # once
{more}        return self._file
"""


@pytest.mark.parametrize("test", ["self._file is None", "not self._file"])
def test_on_first_use(test: str) -> None:
    before = HEAD + LAZY.format(test=test, more="") + REST
    more = "            self._file_opened_by = os.getpid()\n"
    state = '\n    def __getstate__(self):\n        return {**self.__dict__, "_file": None}\n'
    test += " or self._file_opened_by != os.getpid()"
    assert fixed(before) == HEAD + LAZY.format(test=test, more=more) + state + REST


def test_a_cached_property() -> None:
    text = f"""{HEAD.replace("import os", "import functools")}    def __init__(self, path):
        self.path = path
        self.count = len(self.data)

    @functools.cached_property
    def data(self):
        return h5py.File(self.path)
{REST}"""
    after = fixed(text)
    assert "    @property\n    def data(self):\n        if self.__dict__" in after
    assert "            self._opened_data = h5py.File(self.path)\n" in after
    assert STATE.format() in after


def test_a_function_that_opens_it() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.data = self.opened(path)

    @staticmethod
    def opened(path):
        return h5py.File(path)
{REST}"""
    after = fixed(before)
    assert "        self._data_path = path\n" in after
    assert "            self._opened_data = self.opened(self._data_path)\n" in after


def test_a_function_that_opens_it_and_sets_it_up() -> None:
    connect = "def connect(path):\n    db = h5py.File(path)\n    db.flush()\n    return db\n\n\n"
    before = HEAD.replace("class F", f"{connect}class F") + "    def __init__(self, path):\n"
    before += f"        self.data = connect(path)\n{REST}"
    after = fixed(before)
    assert connect in after
    assert "            self._opened_data = connect(self._data_path)\n" in after


def test_behind_a_semicolon() -> None:
    before = f"""{HEAD}    def __init__(self, path, key):
        self.path = path; self.file = h5py.File(path); self.data = self.file[key]; self.key = key  # é
{REST}"""
    after = f"""{HEAD}    def __init__(self, path, key):
        self.path = path; self._data_key = key; self.key = key  # é
{PROPERTY.format(name="file", bare="file", call="h5py.File(self.path)")}"""
    after += DERIVED.format(expression="self.file[self._data_key]") + STATE.format() + REST
    assert fixed(before) == after


def test_nothing_else_is_there() -> None:
    before = f"""{HEAD}    def __init__(self):
        # the features
        self.file = h5py.File("/data/x.h5")  # é
        self.data = self.file["x"]
{REST}"""
    call = 'h5py.File("/data/x.h5")  # é'
    after = PROPERTY.format(name="file", bare="file", call=call).replace(
        "= os.getpid():", "= os.getpid():\n            # the features"
    )
    after = f"{HEAD}    def __init__(self):\n        pass\n{after}"
    assert fixed(before) == after + DERIVED.format(expression='self.file["x"]') + STATE.format() + REST


OPENS = "            self.data = h5py.File(path)\n"
STORES = "        self.path = path\n"
CONDITIONS = {
    f"        if path:\n{OPENS}": "        if path:\n            self._data_path = path\n",
    f"{STORES}        # if it is wanted\n        if path is not None:\n{OPENS}": STORES,
    f"{STORES}        if is_there(path):\n{OPENS}": f"{STORES}        if is_there(path):\n            pass\n",
    f"{STORES}        if not path:\n            self.rows = []\n        else:\n{OPENS}": (
        f"{STORES}        if not path:\n            self.rows = []\n"
    ),
}


@pytest.mark.parametrize("body", CONDITIONS)
def test_on_a_condition(body: str) -> None:
    before = f"{HEAD}    def __init__(self, path):\n{body}{REST}"
    own = "self.path" if "self.path" in body else "self._data_path"
    after = f"{HEAD}    def __init__(self, path):\n{CONDITIONS[body]}"
    after += PROPERTY.format(name="data", bare="data", call=f"h5py.File({own})") + STATE.format() + REST
    assert fixed(before) == after


def test_none_on_a_condition() -> None:
    before = f"""{HEAD}    def __init__(self, path, rows=None):
        self.path = path
        self.data = None
        if rows is None:
            # once
            self.data = h5py.File(path)  # é
        self.rows = rows
{REST}"""
    after = fixed(before)
    assert (
        """        self.path = path
        self._opens_data = False
        if rows is None:
            self._opens_data = True
        self.rows = rows
"""
        in after
    )
    assert (
        """        if not self._opens_data:
            return None
        if self.__dict__.get("_opened_data_by") != os.getpid():
            # once
            self._opened_data = h5py.File(self.path)  # é
"""
        in after
    )
    otherwise = before.replace("        self.data = None\n", "").replace(
        "        self.rows = rows\n", "        else:\n            self.data = None\n        self.rows = rows\n"
    )
    assert "        else:\n            self._opens_data = False\n" in fixed(otherwise)


def test_none_before() -> None:
    before = f"""{HEAD}    def __init__(self, path):
        self.path = path
        self.data = None
        self.data = h5py.File(path)
{REST}"""
    after = f"""{HEAD}    def __init__(self, path):
        self.path = path
{PROPERTY.format(name="data", bare="data", call="h5py.File(self.path)")}{STATE.format()}{REST}"""
    assert fixed(before) == after


def test_in_two_ways_in_one_class() -> None:
    before = HEAD + LAZY.format(test="self._file is None", more="").replace(
        "        self._file = None\n", "        self._file = self._names = None\n        self.log = open(path)\n"
    )
    before += """
    @property
    def names(self):
        if self._names is None:
            self._names = h5py.File(self.path)
        return self._names
"""
    before = before.replace("self._file = self._names = None", "self._file = None\n        self._names = None")
    before = before.replace("len(self.data)", "len(self.data) + len(self.names)")
    after = fixed(before + REST)
    assert after.count("def __getstate__") == 1
    assert 'startswith("_opened_")}' in after
    assert '        return {**kept, "_file": None, "_names": None}\n' in after


STATES = {
    "        return {**self.__dict__, 'lock': None}\n": (
        '        return {**self.__dict__, \'lock\': None, "_opened_data": None, "_opened_data_by": None}\n'
    ),
    "        return {**self.__dict__, 'data': None}\n": (
        '        return {**self.__dict__, "_opened_data": None, "_opened_data_by": None}\n'
    ),
    "        state = self.__dict__.copy()\n        state['lock'] = None\n        return state\n": (
        "        state = self.__dict__.copy()\n        state['lock'] = None\n"
        '        state.pop("_opened_data", None)\n        state.pop("_opened_data_by", None)\n        return state\n'
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_added_to_its_own_state(state: str) -> None:
    before = f"{HEAD}    def __init__(self, path):\n        self.path = path\n        self.data = h5py.File(path)\n"
    method = "\n    def __getstate__(self):\n"
    after = f"{HEAD}    def __init__(self, path):\n        self.path = path\n"
    after += PROPERTY.format(name="data", bare="data", call="h5py.File(self.path)") + method + STATES[state] + REST
    assert fixed(before + method + state + REST) == after


LAZY_STATES = {
    "        return {**self.__dict__, 'lock': None}\n": (
        "        return {**self.__dict__, 'lock': None, \"_file\": None}\n"
    ),
    "        return {**self.__dict__, '_file': None}\n": "        return {**self.__dict__, '_file': None}\n",
    "        state = dict(vars(self))\n        state['_file'] = None\n        return state\n": (
        "        state = dict(vars(self))\n        state['_file'] = None\n        return state\n"
    ),
}


@pytest.mark.parametrize("state", LAZY_STATES)
def test_on_first_use_with_its_own_state(state: str) -> None:
    method = "\n    def __getstate__(self):\n"
    before = HEAD + LAZY.format(test="self._file is None", more="") + method + state + REST
    after = HEAD + LAZY.format(
        test="self._file is None or self._file_opened_by != os.getpid()",
        more="            self._file_opened_by = os.getpid()\n",
    )
    assert fixed(before) == after + method + LAZY_STATES[state] + REST


LAZY_LEFT = {
    "stored elsewhere": "\n    def renew(self):\n        self._file = h5py.File(self.path)\n",
    "pickled otherwise": "\n    def __getstate__(self):\n        return vars(self)\n",
    "taken out of the state": (
        "\n    def __getstate__(self):\n        state = dict(vars(self))\n        del state['_file']\n"
        "        return state\n"
    ),
}


@pytest.mark.parametrize("case", LAZY_LEFT)
def test_on_first_use_left(case: str) -> None:
    text = HEAD + LAZY.format(test="self._file is None", more="") + LAZY_LEFT[case] + REST
    assert fixed(text) == text


def test_a_stack_is_left() -> None:
    text = f"""{HEAD}    def __init__(self, path, stack):
        self.data = stack.enter_context(h5py.File(path))
{REST}"""
    assert fixed(text) == text


KEPT = """
    @property
    def {name}(self):
        if self.__dict__.get("_opened_{name}_by") != os.getpid():
            self._opened_{name} = {call}
            self._opened_{name}_by = os.getpid()
        return self._opened_{name}
"""
CLOSING = """\
            if self.__dict__.get("{kept}") is not None:
                self.{kept}.close()  # inherited by a fork
"""


def test_a_cursor_keeps_its_place() -> None:
    head = HEAD.replace("import h5py", "import sqlite3")
    before = f"""{head}    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.data = self.db.cursor()  # one
{REST}"""
    after = f"""{head}    def __init__(self, path):
        self._db_path = path
{PROPERTY.format(name="db", bare="db", call="sqlite3.connect(self._db_path)")}"""
    after += KEPT.format(name="data", call="self.db.cursor()  # one") + STATE.format() + REST
    assert fixed(before) == after


def test_a_cursor_is_left_out_of_the_state() -> None:
    head = HEAD.replace("import h5py", "import sqlite3")
    state = """
    def __getstate__(self):
        state = self.__dict__.copy()
        del state["db"]
        return state
"""
    before = f"""{head}    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path)
        self.data = self.db.cursor()
{state}{REST}"""
    after = fixed(before)
    assert 'state.pop("_opened_db", None)' in after and 'state.pop("_opened_data", None)' in after
    assert KEPT.format(name="data", call="self.db.cursor()") in after


def test_lmdb_is_closed_before_a_fork_opens_its_own() -> None:
    head = HEAD.replace("import h5py", "import lmdb")
    before = f"""{head}    def __init__(self, path):
        self.path = path
        self.data = lmdb.open(path)
{REST}"""
    opened = PROPERTY.format(name="data", bare="data", call="lmdb.open(self.path)").replace(
        "            self._opened_data = ", CLOSING.format(kept="_opened_data") + "            self._opened_data = "
    )
    after = f"""{head}    def __init__(self, path):
        self.path = path
{opened}{STATE.format()}{REST}"""
    assert fixed(before) == after


def test_lmdb_on_first_use_is_closed_before_a_fork_opens_its_own() -> None:
    head = HEAD.replace("import h5py", "import lmdb")
    before = f"""{head}    def __init__(self, path):
        self.path = path
        self.data = None
        self.count = self.opened().stat()["entries"]

    def opened(self):
        if self.data is None:
            # read
            self.data = lmdb.open(self.path)
        return self.data
{REST}"""
    after = fixed(before)
    assert (
        f"""            # read
{CLOSING.format(kept="data")}            self.data = lmdb.open(self.path)
            self._data_opened_by = os.getpid()
"""
        in after
    )


def test_a_comment_on_a_field_stays() -> None:
    before = f"""{HEAD}    data: h5py.File  # set below

    def __init__(self, path):
        self.data = h5py.File(path)
{REST}"""
    after = fixed(before)
    assert "class Features(Dataset):\n    # set below\n\n    def __init__(self, path):" in after


def test_a_cursor_made_of_what_is_opened_anew() -> None:
    head = HEAD.replace("import h5py", "import sqlite3")
    state = """
    def __setstate__(self, state):
        self.__dict__.update(state)
        # again
        self.db = sqlite3.connect(self.path)
        self.data = self.db.cursor()

    def __getstate__(self):
        return {**self.__dict__, "db": None, "data": None}
"""
    before = f"""{head}    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path)
        self.data = self.db.cursor()
{state}{REST}"""
    after = fixed(before)
    assert "    def __setstate__(self, state):\n        self.__dict__.update(state)\n        # again\n\n" in after
    assert all(f'"_opened_{name}": None' in after for name in ("db", "db_by", "data", "data_by"))
