"""Modules, classes, functions and values that lead back to themselves; each chain ends where rules look."""

CIRCLES = {
    "a.py": """\
from b import *
from b import make, Base

class Data(Base): ...

DataLoader(Data(), 4, collate_fn=make())
""",
    "b.py": """\
from a import *
from a import Data

class Base(Data): ...

def make():
    return make()

make = make
""",
    "own.py": """\
import own
from own import x
x = x
x = own.x
DataLoader(own.x, 4, collate_fn=x.x.x)
""",
    "heir.py": """\
class A(A): ...
class B(C): ...
class C(B): ...

DataLoader(B(), 4, collate_fn=C().f)
DataLoader(A(), 4, collate_fn=A.f)
""",
    "held.py": """\
d = {}
d["d"] = d
d["l"] = l = [d]
l.append(l)
DataLoader(Dataset(), 4, collate_fn=d["l"][0]["d"])
DataLoader(l, 4, collate_fn=[*l, *l][0])
""",
    "call.py": """\
def f(x=lambda: f()):
    return g(x)

def g(x):
    return f(x)

class T(Dataset):
    def __init__(self):
        self.t = self.t
        self.u = self
        self.v = T().v

    def __getitem__(self, i):
        return self[i]

DataLoader(T(), 4, collate_fn=f(g))
mp.Process(target=T().u.u.v).start()
""",
    "keys.py": """\
k = dict(**k)
k.update(k)
k |= k
DataLoader(Dataset(), **k)
DataLoader(*k, **dict(k, **k))
""",
    "deco.py": """\
@deco
def deco(f):
    return deco(f)

@deco
class deco(deco): ...

mp.Process(target=deco).start()
""",
    "parts.py": """\
from functools import partial
p = partial(p, p)
p = partial(partial, partial)
p = partial(p, collate_fn=p)
mp.Pool(2, p)
p(DataLoader)
""",
    "loops.py": """\
for x in x:
    x = [x]
    while x:
        x = x, x
    with x as x:
        x = x if x else x
DataLoader(x, x, collate_fn=x)
""",
    "package/__init__.py": """\
from . import *
from . import package
from .package import package
from .one import one
""",
    "package/one.py": """\
from . import one
from .. import one
from ... import one
from .one import one as one
DataLoader(one, 4, collate_fn=one.one)
""",
}
