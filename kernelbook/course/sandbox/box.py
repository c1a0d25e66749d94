"""Run hostile code once: bubblewrap around `inside.py`, watched from outside.

Started by root the code runs as a user number of its own that owns nothing; started by anybody
else, in a user namespace without further namespaces.  When the first process ends or its time is
up, the whole process namespace goes with it, children that sleep included.
"""

import contextlib
import fcntl
import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from kernelbook.course.sandbox import seccomp, view
from kernelbook.course.sandbox.limits import PATIENCE, SLOWEST, Limits, Outcome
from kernelbook.course.sandbox.view import INSIDE, LIB, PACKAGE
from kernelbook.course.sandbox.watch import Watch

__all__ = ["HOW", "Sandbox", "SandboxMissing", "why_not"]

HOW = (
    "install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap), "
    "use Linux in a container or virtual machine where there is none, or pass --unsafe to run the "
    "submissions with your own rights (only if you trust every one of them)"
)


# Importing is no mistake: other questions may use the package.  Calling anything of it is.
STAND_IN = """
class Absent(type):
    def __getattr__(cls, name): return cls
    def __setattr__(cls, name, value): pass
    def __getitem__(cls, key): return cls
    def __setitem__(cls, key, value): pass
    def __call__(cls, *arguments, **named):
        raise RuntimeError("this question asks for your own work: NAME is not available for it")

class absent(metaclass=Absent):
    pass

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return absent

import sys
from importlib.machinery import ModuleSpec

class Finder:  # of whatever would lie below
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.startswith("NAME.") else None
    def create_module(self, spec): return None
    def exec_module(self, module): module.__getattr__ = __getattr__

sys.meta_path.insert(0, Finder())
"""


class SandboxMissing(RuntimeError):
    """There is no sandbox here, and running without one was not asked for."""


@cache
def why_not() -> str | None:
    """None if a sandbox can be made here, else the reason."""
    if not sys.platform.startswith("linux"):
        return f"the sandbox needs Linux, and this is {sys.platform}"
    if shutil.which("bwrap") is None:
        return "bubblewrap (the command bwrap) is not installed"
    with Sandbox(packages=()) as box:
        outcome = box.run({"setup": [], "variants": [{"cells": []}]})
    if outcome.trouble is None:
        return None
    said = outcome.printed.strip().splitlines()
    return f"bubblewrap cannot make a sandbox here ({said[-1] if said else outcome.trouble})"


class Sandbox:
    """A place to run submissions of one assignment in; use it as a context.

    packages: names of installed distributions the code may import.
    provides: files of `kernelbook` it may import, relative to the package; the rest is absent.
    hidden: folders that must not be seen even where they lie below something that is.
    absent: packages that can be imported and do nothing but say that they are not allowed.
    unsafe: run without bubblewrap, with the limits alone.
    """

    def __init__(
        self, packages=("numpy", "scipy"), provides=(), hidden=(), absent=(), unsafe=False
    ):
        self.packages = tuple(p for p in packages if p not in absent)
        self.provides, self.absent, self.unsafe = tuple(provides), tuple(absent), unsafe
        self.hidden = [Path(p).resolve() for p in hidden]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kernelbook-sandbox-")
        self.lib = Path(self.folder.name) / "lib"
        target = self.lib / "kernelbook"
        target.mkdir(parents=True)
        for name in ("__init__.py", *self.provides):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PACKAGE / name, target / name)
        self.trees = {}
        for package in self.packages:
            for tree in view.trees(package):
                self.trees[tree.name] = tree
        for name in self.absent:
            stand_in = Path(self.folder.name) / "absent" / name
            stand_in.mkdir(parents=True)
            (stand_in / "__init__.py").write_text(STAND_IN.replace("NAME", name))
            self.trees[name] = stand_in
        if self.unsafe:
            for name, tree in self.trees.items():
                (self.lib / name).symlink_to(tree)
        os.chmod(self.folder.name, 0o755)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def command(self, descriptors, filter_fd, limits):
        """The command line; the descriptors stay open in it."""
        options = {"limits": limits.rlimits(), "seconds": limits.seconds}
        options |= {"patience": PATIENCE, "slowest": SLOWEST, "path": [LIB]}
        interpreter, inside = str(view.python()), "/sandbox/inside.py"
        if self.unsafe:
            interpreter, inside = os.path.realpath(sys.executable), str(INSIDE)
            options["path"] = [str(self.lib)]
            options["limits"].pop("RLIMIT_NPROC")  # it would count all of this user's processes
        elif os.geteuid() == 0:
            options["uid"] = _stranger()
        options |= descriptors
        run = [interpreter, "-I", "-S", "-B", inside, json.dumps(options)]
        if self.unsafe:
            return run
        return [*view.arguments(self.lib, self.trees, self.hidden, filter_fd), "--", *run]

    def run(self, job: dict, questions=(), limits: Limits | None = None) -> Outcome:
        """Run one job and bring back what it wrote, whatever it did.

        job: the cells to run, known to the code from the start.
        questions: names and hidden inputs, which it gets when its cells have run.
        """
        limits = limits or Limits()
        with _Descriptors() as held:
            job_fd = held.readable(json.dumps(job).encode())
            hidden, hidden_in = held.empty_file()
            go, go_in = held.pipe()
            results, results_in = held.pipe()
            printed, printed_in = held.pipe()
            program = None if self.unsafe else seccomp.program()
            filter_fd = None if program is None else held.readable(program)

            def hand_over():
                with os.fdopen(os.dup(hidden_in), "wb") as stream:
                    stream.write(json.dumps(list(questions)).encode())
                os.write(go_in, b"g")

            given = {"job": job_fd, "hidden": hidden, "go": go, "results": results_in}
            process = subprocess.Popen(
                self.command(given, filter_fd, limits),
                stdin=subprocess.DEVNULL,
                stdout=printed_in,
                stderr=printed_in,
                pass_fds=[fd for fd in (*given.values(), filter_fd) if fd is not None],
                env=view.ENVIRONMENT | {"PATH": os.environ.get("PATH", os.defpath)},
                cwd="/",
                start_new_session=True,
            )
            held.close(results_in)
            held.close(printed_in)
            try:
                # Several variants are our own tests: trusted, and limited as a whole.
                alone = len(job["variants"]) == 1
                stages = [q["name"] for q in questions] if alone else []
                return Watch(process, results, printed, limits, hand_over, stages).run()
            finally:
                # In a sandbox this ends bubblewrap, and with it every process of the namespace.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class _Descriptors:
    """Descriptors of one run.  Each is closed once and no more: its number may be in use again."""

    def __enter__(self):
        self.open = set()
        return self

    def __exit__(self, *_):
        for descriptor in list(self.open):
            self.close(descriptor)

    def keep(self, descriptor):
        self.open.add(descriptor)
        return descriptor

    def close(self, descriptor):
        if descriptor in self.open:
            self.open.remove(descriptor)
            os.close(descriptor)

    def pipe(self):
        """Both ends of a large pipe: each refill of a small one costs a change of process."""
        ends = tuple(map(self.keep, os.pipe()))
        with contextlib.suppress(OSError):  # more than this user may have
            fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 1 << 20)
        return ends

    def empty_file(self):
        """A file in memory: a descriptor to read it with, and one to fill it later."""
        writable = self.keep(os.memfd_create("input"))
        return self.keep(os.open(f"/proc/self/fd/{writable}", os.O_RDONLY)), writable

    def readable(self, data):
        """A descriptor from which the data can be read, and nothing else done."""
        readable, writable = self.empty_file()
        with os.fdopen(os.dup(writable), "wb") as stream:
            stream.write(data)
        self.close(writable)
        return readable


def _stranger():
    """An unused user number: not on this machine, and not to another submission."""
    while True:
        uid = random.SystemRandom().randrange(20_000, 60_000)
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid
