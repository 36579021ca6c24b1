"""The messages that worker processes leave behind, and what can cause them.

Each row was learned from the sources of CPython 3.8 to 3.15 (Lib/multiprocessing, Lib/pickle.py, Modules/_pickle.c,
Lib/concurrent/futures/process.py), from those of torch 1.9 to 2.13 (torch/utils/data, torch/multiprocessing,
torch/cuda), or from a fixture of this project that prints it. The weight of a cause says how often it is the one: 10
for "almost always", 1 for "has been seen". Causes outside the code say what they are, how to make sure, what to do.
"""

from __future__ import annotations

import re
from functools import cached_property

_QUALNAME = r"(?P<name>[\w.<>]+)"


class Message:
    def __init__(self, pattern: str, causes: str = "", meaning: str = "", check: str = "", remedy: str = "") -> None:
        self.pattern = pattern
        self.causes = {code: int(weight) for code, _, weight in (item.partition(":") for item in causes.split())}
        self.meaning = meaning
        self.check = check
        """How to make sure of a cause outside the code."""
        self.remedy = remedy

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @property
    def is_outside(self) -> bool:
        """Whether the cause is as a rule not a line of the program."""
        return bool(self.remedy)


MESSAGES = (
    # what cannot be pickled
    Message(
        rf"(?:Can't|cannot|can't) (?:pickle|get) local object (?:'|<function ){_QUALNAME}?<lambda>",
        "TMP301:10 TMP303:1 TMP305:1",
        "A lambda goes to a worker process, and pickle writes functions by their names.",
    ),
    Message(
        rf"(?:Can't|cannot|can't) (?:pickle|get) local (?:object|attribute) (?:'|<(?:function|"
        rf"class) '?){_QUALNAME}(?<!<lambda>)(?:'| at |>|\.\.\.|$)",
        "TMP302:10 TMP301:4",
        "A function or class that is defined inside a function goes to a worker process.",
    ),
    Message(
        r"Can't pickle <function (?P<name>[\w.<>]*)<lambda>|[Ll]ambdas? (?:functions? )?(?:cannot|can't) be pickled",
        "TMP301:10",
        "A lambda goes to a worker process, and pickle writes functions by their names.",
    ),
    Message(
        rf"Can't pickle <function {_QUALNAME}(?<!<lambda>) at \w+>",
        "TMP302:10 TMP301:3",
        "pickle does not find the function under its name: a decorator hides it, or it is defined in a function.",
    ),
    Message(
        r"Can't pickle <class '(?P<name>[\w.<>]+)'>",
        "TMP302:8 TMP309:4 TMP305:2",
        "pickle does not find the class under its name.",
    ),
    Message(
        r"(?:cannot|can't|Can't) pickle '?(?P<name>_io\.\w+|sqlite3\.\w+|Environment|Transaction|ZipFile|"
        r"socket\S*|\w*SSL\w*|mmap\.mmap|"
        r"\w*[Cc]onnection|VideoCapture|cv2\.\w+|\w*\.?File|\w*[Cc]ursor|select\.\w+|\w*[Cc]lient|"
        r"\w*[Rr]eader)'? objects?",
        "TMP303:10 TMP304:8 TMP305:4 TMP301:1 TMP302:1",
        "An open file, database or connection goes to a worker process.",
    ),
    Message(
        r"h5py objects cannot be pickled|no default __reduce__ due to non-trivial __cinit__",
        "TMP303:10 TMP304:8 TMP305:4",
        "An open file, database or connection goes to a worker process.",
    ),
    Message(
        r"(?:cannot|can't|Can't) pickle '?(?!local )(?P<name>[\w.]+)'? objects?",
        "TMP305:10 TMP303:6 TMP304:6 TMP401:1",
        "Something that stands for a part of this one process goes to another one.",
    ),
    Message(
        r"Can't pickle .+: (?:it's not (?:found as|the same object as) (?P<name>[\w.<>]+)|"
        r"attribute lookup (?P<other>[\w.<>]+) on|import of module|No module named)",
        "TMP302:9 TMP301:5 TMP305:3",
        "pickle does not find the thing under its name.",
    ),
    Message(
        r"pool objects cannot be passed between processes or pickled|"
        r"Pickling an AuthenticationString object is disallowed|_(?:Multi|Single)Process\w+Iter\b.*cannot be pickled|"
        r"cannot be pickled.*_(?:Multi|Single)Process\w+Iter",
        "TMP305:10",
        "A pool, process or manager hangs on something that goes to a worker process.",
    ),
    Message(
        r"(?P<name>Lock|RLock|Semaphore|BoundedSemaphore|Condition|Event|Queue|JoinableQueue|SimpleQueue|Value|"
        r"Array|\w+) objects should "
        r"only be shared between processes through inheritance",
        "TMP306:10 TMP303:2 TMP305:3",
        "Locks and queues reach workers when they are made, never in a task's arguments.",
    ),
    Message(
        r"A SemLock created in a \w+ context|"
        r"(?:[Ff]ork|spawn)[ -]context primitive",
        "TMP106:10",
        "A lock, queue or event was made by another context than the process that gets it.",
    ),
    Message(
        r"[Tt]ried to serialize object of type|[Cc]owardly refusing to serialize non-leaf tensor which requires_grad",
        meaning="A tensor that is part of a graph goes to another process, and autograd does not cross processes.",
        check="Look at what the dataset or queue hands over: `tensor.requires_grad` and `tensor.is_leaf`.",
        remedy="Call `.detach()` on it before it is returned or put.",
    ),
    Message(
        r"A task has failed to un-serialize",
        "TMP202:10 TMP302:4 TMP310:4 TMP203:3 TMP201:2",
        "The worker imports the main module anew and does not find there what it is asked to run.",
    ),
    Message(
        r"Error sending result|MaybeEncodingError",
        "TMP305:8 TMP303:7 TMP301:6 TMP302:6 TMP309:3",
        "What a task returns cannot be pickled on its way back.",
    ),
    # what the child does not find
    Message(
        r"Can't get attribute '(?P<name>__\w+?)' on|has no attribute '(?P<other>__[a-z]\w*[a-z0-9])(?<!__)'",
        "TMP310:10 TMP202:5",
        "The worker looks a private method up by a name that it does not have.",
    ),
    Message(
        r"Can't get attribute '(?P<name>[\w.<>]+)' on",
        "TMP202:10 TMP302:5 TMP301:3 TMP310:2",
        "The worker imports the main module anew and does not find there what only the guard defines.",
    ),
    Message(
        r"name '(?P<name>\w+)' is not defined",
        "TMP203:10 TMP202:7 TMP401:2",
        "The worker imports the main module anew, and what stands under its guard does not exist there.",
    ),
    Message(
        r"An attempt has been made to start a new process before|proper idiom in the main module|"
        r"freeze_support\(\)|without the __name__ check|_check_not_importing_main",
        "TMP201:10 TMP102:1",
        "The worker imports the main module anew, which starts processes again.",
    ),
    Message(
        r"module '(?P<module>[\w.]*multiprocessing)' has no attribute '(?P<name>\w+)'",
        "TMP407:10 TMP105:2",
        "A submodule is used that nothing has imported.",
    ),
    # start methods
    Message(r"context has already been set", "TMP102:9 TMP103:9", "The start method is set a second time."),
    Message(
        r"cannot find context for '(?P<name>\w*)'|(?P<other>forkserver) start method not available",
        "TMP104:9 TMP105:9 TMP101:3",
        "This platform does not have the start method.",
    ),
    Message(
        r"multiprocessing_context option should specify a valid start method",
        "TMP105:9 TMP104:9",
        "The loader's start method does not exist here.",
    ),
    Message(
        r"multiprocessing_context option should be a valid context object",
        "TMP105:10",
        "Something else was given where a context belongs.",
    ),
    Message(
        r"'str' object has no attribute '(?P<name>\w*(?:Queue|Process|Lock|Event|Pool|Semaphore|"
        r"get_start_method|get_context))'|"
        r"unexpected keyword argument '(?P<other>mp_context|context)'",
        "TMP105:10",
        "The argument for the context has the wrong type, or belongs to another class.",
    ),
    Message(
        r"[Cc]annot re-initialize \w+ in forked subprocess|CUDA error: initialization error|"
        r"cuda runtime error \(0?3\)|"
        r"Cannot set the CUDA device in a forked|forked subprocess.*CUDA",
        "TMP703:9 TMP101:8 TMP801:3 TMP802:4 TMP901:1",
        "CUDA was used before the fork, and its state does not survive in the child.",
    ),
    Message(
        r"is multi-threaded, use of fork\w*\(\) may lead to deadlocks|"
        r"os\.fork\(\) is incompatible with multithreaded code|"
        r"may have been in progress in another thread when fork\(\) was called|"
        r"cannot be fork\(\)ed after the thread has started|"
        r"fork\(\) called from a process already using GNU OpenMP|"
        r"process just got forked, after parallelism has already been used",
        "TMP801:10 TMP802:8 TMP101:8 TMP901:2",
        "A process is forked while threads run: the locks that they hold stay locked in the child.",
    ),
    Message(
        r"max_tasks_per_child is incompatible with the 'fork'",
        "TMP101:10 TMP901:3",
        "The executor forks, and a worker that replaces another one cannot be forked.",
    ),
    Message(
        r"can only (?:test|join) a child process|can only start a process object created by current process",
        "TMP101:5 TMP801:3 TMP304:3",
        "A loader's iterator or a process object was inherited by a fork, and the child cleans it up.",
    ),
    Message(
        r"daemonic processes are not allowed to have children",
        "TMP307:10",
        "Workers of loaders and pools are daemons, and those may not start processes.",
    ),
    # workers that fail or vanish
    Message(
        r"found <class 'NoneType'>",
        "TMP601:10",
        "A sample, or a part of it, is None, and torch's default_collate does not know what to do with that.",
    ),
    Message(
        r"'NoneType' object has no attribute '(?P<name>id|num_workers|seed|dataset)'",
        "TMP607:10 TMP401:4 TMP403:2",
        "`get_worker_info()` is None in the parent process.",
    ),
    Message(
        r"'NoneType' object has no attribute '(?P<name>\w+)'|'NoneType' object is not (?:subscriptable|iterable|"
        r"callable|an iterator)|object of type 'NoneType' has no len\(\)|"
        r"unsupported operand type\(s\) for .*'NoneType'",
        "TMP401:8 TMP607:4 TMP403:3 TMP203:2 TMP308:3 TMP601:2 TMP402:2",
        "What the parent process sets does not exist in the worker, which imports its own.",
    ),
    Message(
        r"A result has failed to un-serialize|"
        r"missing \d+ required (?:positional|keyword-only) arguments?: (?P<name>'\w+'.*)",
        "TMP309:10 TMP308:9",
        "An exception cannot be rebuilt in the parent, or a function is called with other arguments than it takes.",
    ),
    Message(
        r"(?:takes|expected) (?:from )?\d+ .*positional arguments?.* (?:was|were) given|"
        r"argument after \* must be an iterable, not (?P<name>\w+)|'(?:int|float|bool|Tensor)' object is not iterable",
        "TMP308:10 TMP309:4",
        "The function and the arguments that it is given do not fit.",
    ),
    Message(
        r"BrokenProcessPool|process in the process pool was terminated abruptly|child process terminated abruptly",
        "TMP603:8 TMP309:7 TMP201:4 TMP102:4 TMP202:3 TMP310:2",
        "A worker of an executor died without a word.",
    ),
    Message(
        r"paging file is too small|WinError 1455",
        meaning="Each worker loads the libraries anew, and Windows has no memory left to promise them.",
        check="The committed memory in the task manager while the workers start.",
        remedy="Fewer workers, or a larger paging file.",
    ),
    Message(
        r"is killed by signal: Bus error|Bus error|unable to open shared memory object|insufficient shared memory|"
        r"unable to (?:resize|allocate|write to|mmap).*(?:shm|shared memory|/torch_)|No space left on device.*shm",
        meaning="Workers hand tensors over in shared memory, and there is too little of it.",
        check="`df -h /dev/shm` while it runs; a container has 64 MB unless told otherwise.",
        remedy="Start the container with `--shm-size=8g` or `--ipc=host`, or send less: fewer workers, smaller "
        "batches, "
        "a smaller prefetch_factor.",
    ),
    Message(
        r"Too many open files|received \d+ items of ancdata|unable to open (?:file|shared memory).*too many",
        meaning="Each tensor that a worker sends keeps a file open as long as it is alive, and the limit is reached.",
        check="`ulimit -n`, and `ls /proc/PID/fd | wc -l` while it runs.",
        remedy="Copy what is kept of a batch (`tensor.clone()`), or call "
        '`torch.multiprocessing.set_sharing_strategy("file_system")` '
        "in the main module, or raise `ulimit -n`.",
    ),
    Message(
        r"is killed by signal: Killed|signal SIGKILL|exit ?code:? -9\b|[Oo]ut of memory: Killed process|"
        r"oom-kill|exitcode +: -9",
        "TMP906:6 TMP603:2 TMP902:3",
        "The system has killed a worker, as it does when memory runs out.",
        check="`dmesg | grep -i oom`, or the container's memory events.",
        remedy="Fewer workers, or datasets that keep arrays instead of lists of objects, whose pages each "
        "worker copies.",
    ),
    Message(
        r"is killed by signal: Segmentation fault|signal SIGSEGV|exit ?code:? -11\b",
        "TMP303:6 TMP304:5 TMP101:4 TMP801:3 TMP907:2",
        "A worker crashed in native code: a library that does not survive a fork, or a handle that several "
        "processes use.",
    ),
    Message(
        r"is killed by signal: \w+|terminated with signal SIG\w+|signal SIG(?:ABRT|TERM|FPE|ILL)",
        "TMP603:8 TMP303:4 TMP304:3 TMP101:2",
        "A worker was ended by a signal: by itself, or by a library that gives up.",
    ),
    Message(
        r"DataLoader timed out after|multiprocessing\.context\.TimeoutError|(?:^|\s)TimeoutError$",
        "TMP101:7 TMP801:6 TMP303:3 TMP605:3 TMP604:2 TMP309:2 TMP310:2 TMP202:2 TMP301:1",
        "Workers are alive and give nothing: most often a lock that was held when they were forked.",
    ),
    Message(
        r"DataLoader worker \(pid(?:\(s\))?:? ?[\d, ]+\) exited unexpectedly",
        "TMP603:8 TMP102:5 TMP201:4 TMP202:3 TMP203:2 TMP310:1",
        "A worker ended without a word, most often with an error of its own further up.",
    ),
    Message(
        r"[Pp]rocess \d+ (?:exited|terminated) with (?:exit code|the following error)|ProcessExitedException|"
        r"ProcessRaisedException|SystemExit",
        "TMP603:8",
        "A process ended by itself with a code that is not 0.",
    ),
    Message(
        r"SemLock\._rebuild",
        "TMP606:9 TMP605:2 TMP201:2",
        "The parent has ended, and its locks with it, before the process that it started could take them.",
    ),
    # handles in several processes
    Message(
        r"[Cc]onnection reset by peer|ConnectionResetError|ConnectionRefusedError|BrokenPipeError|Broken pipe",
        "TMP303:6 TMP304:6 TMP201:3 TMP603:3 TMP606:3 TMP401:1",
        "The other end of a connection has gone: it is shared by processes, or the process behind it died.",
    ),
    Message(
        r"EOFError|Ran out of input|pickle data was truncated|unpickling stack underflow|"
        r"got end of file during message|pickle exhausted before end of frame",
        "TMP603:6 TMP303:5 TMP304:5 TMP301:3 TMP302:3 TMP305:3 TMP201:3 TMP606:2",
        "A process ended, or could not be given its arguments, while another one waited for it.",
    ),
    Message(
        r"database disk image is malformed|database is locked|SQLite objects created in a thread|MDB_\w+|"
        r"bad local file header|Bad CRC-32|[Bb]ad magic number|Unable to (?:synchronously )?(?:open|read)|"
        r"Can't (?:synchronously )?read data|"
        r"file signature not found|[Tt]runcated file|while decompressing|invalid (?:load key|block type|"
        r"stored block|distance)|"
        r"h5py.*DataLoader worker|lost synchronization|unexpected (?:EOF|message)|Packet sequence number|"
        r"already open in this process|bad record mac|server closed the connection unexpectedly|has gone away|"
        r"no message from the libpq|Commands out of sync|connection already closed|"
        r"(?:operation on|read of|seek of) closed file|Bad file descriptor",
        "TMP303:10 TMP304:9",
        "Several processes read through one open file or connection, and get each other's bytes.",
    ),
    # files
    Message(
        r"leaked shared_memory objects|No such file or directory: '/?psm_|/psm_\w+|'/dev/shm/|"
        r"File exists: '/(?P<name>[^'/]+)'",
        "TMP408:10",
        "A block of shared memory is not unlinked, or is unlinked twice.",
    ),
    Message(
        r"No such file or directory: (?:b?['\"](?P<name>[^'\"]+)['\"])|FileNotFoundError|No such file or directory",
        "TMP501:9 TMP502:9 TMP408:3",
        "The path is relative, and the process has another working directory.",
    ),
    Message(
        r"leaked semaphore objects",
        "TMP606:4 TMP605:3 TMP603:3 TMP201:2",
        "Processes were ended before they could clean up; the message itself does no harm.",
    ),
    # settings of loaders
    Message(
        r"(?P<name>prefetch_factor) option could only be specified|"
        r"(?P<other>persistent_workers) option needs num_workers|"
        r"(?P<third>multiprocessing_context) can only be used with|assert self\._timeout == 0|"
        r"requires (?P<fourth>timeout) == 0",
        "TMP701:10 TMP908:6",
        "An option of workers is given to a loader that has none.",
    ),
    Message(
        r"PicklingError|Pickling\w* failed",
        "TMP301:9 TMP302:9 TMP305:8 TMP303:7 TMP304:4 TMP310:2",
        "Something goes to a worker process that pickle cannot write.",
    ),
    Message(
        r"maximum recursion depth exceeded",
        "TMP904:6",
        "A dataset that answers an error with another sample never ends where all are bad.",
    ),
    Message(
        r"stack expects each tensor to be equal size|each element in list of batch should be of equal size|"
        r"Trying to resize storage that is not resizable",
        "TMP503:3 TMP601:2",
        "The samples of a batch have different shapes.",
        check="Run the dataset without workers and compare the shapes of two samples.",
        remedy="Pad or crop the samples in the dataset, or give the loader a `collate_fn` that does.",
    ),
)
