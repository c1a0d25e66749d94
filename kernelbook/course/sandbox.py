"""Run hostile code: bubblewrap around `_inside.py`, with a limit on everything.

What the code finds: a Python, the packages the assignment allows, a `kernelbook` without what the
assignment asks for, 16 MB in /tmp.  No /proc, no /etc, no home, no environment, no network, no
other process, no capability.  Started by root the code runs as a user number of its own that owns
nothing; started by anybody else, in a user namespace without further namespaces.

What the grader gets back: lines on one descriptor, cut off at a size; what was printed, cut off at
another; and why it ended.  When the first process ends or its time is up, the whole process
namespace goes with it, children that sleep included.
"""

import contextlib
import json
import os
import pwd
import random
import selectors
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from kernelbook.course import seccomp

__all__ = ["Limits", "Outcome", "Sandbox", "SandboxMissing", "why_not"]

INSIDE = Path(__file__).with_name("_inside.py")
PACKAGE = Path(__file__).parents[1]
LIB = "/sandbox/lib"
HOW = (
    "install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap), "
    "use Linux in a container or virtual machine where there is none, or pass --unsafe to run the "
    "submissions with your own rights (only if you trust every one of them)"
)


class SandboxMissing(RuntimeError):
    """There is no sandbox here, and nobody said that it may be done without."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use."""

    seconds: float = 10.0  # for one cell or one question
    total: float = 30.0  # for everything, by the clock
    memory: int = 1 << 30  # address space of one process, bytes
    disk: int = 16 << 20
    printed: int = 1 << 20
    returned: int = 16 << 20
    processes: int = 3  # the runner, one question, and bubblewrap's own in a user namespace

    def rlimits(self):
        return {
            "RLIMIT_AS": self.memory,
            "RLIMIT_CPU": int(self.total) + 1,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_NOFILE": 64,
            "RLIMIT_FSIZE": self.disk,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
        }


@dataclass
class Outcome:
    """What came out of a sandbox."""

    lines: list = field(default_factory=list)  # raw bytes, one frame each, not to be trusted
    printed: str = ""
    trouble: str | None = None  # why it was ended, when it did not end by itself


@cache
def why_not() -> str | None:
    """None if a sandbox can be made here, else the reason."""
    if not sys.platform.startswith("linux"):
        return f"the sandbox needs Linux, and this is {sys.platform}"
    if shutil.which("bwrap") is None:
        return "bubblewrap (the command bwrap) is not installed"
    with Sandbox(packages=()) as box:
        outcome = box.run({"setup": [], "variants": [{"cells": []}], "questions": []})
    if outcome.trouble is None:
        return None
    said = outcome.printed.strip().splitlines()
    return f"bubblewrap cannot make a sandbox here ({said[-1] if said else outcome.trouble})"


class Sandbox:
    """A place to run submissions of one assignment in; use it as a context.

    packages: names of installed distributions the code may import.
    provides: files of `kernelbook` it may import, relative to the package; the rest is absent.
    hidden: folders that must not be seen even where they lie below something that is.
    unsafe: run without bubblewrap, with the limits alone.
    """

    def __init__(self, packages=("numpy", "scipy"), provides=(), hidden=(), unsafe=False):
        self.packages, self.provides, self.unsafe = tuple(packages), tuple(provides), unsafe
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
            for tree in _trees(package):
                self.trees[tree.name] = tree
        if self.unsafe:
            for name, tree in self.trees.items():
                (self.lib / name).symlink_to(tree)
        os.chmod(self.folder.name, 0o755)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def command(self, job, results, filter_fd, limits):
        """The command line; the descriptors stay open in it."""
        python = os.path.realpath(sys.executable)
        options = {"limits": limits.rlimits(), "seconds": limits.seconds, "path": [LIB]}
        if self.unsafe:
            options["path"] = [str(self.lib)]
            options["limits"].pop("RLIMIT_NPROC")  # it would count all of this user's processes
            inside = str(INSIDE)
        else:
            inside = "/sandbox/inside.py"
            if os.geteuid() == 0:
                options["uid"] = _stranger()
        run = [python, "-I", "-S", "-B", inside, str(job), str(results), json.dumps(options)]
        return run if self.unsafe else [*self._bwrap(limits, filter_fd), "--", *run]

    def _bwrap(self, limits, filter_fd):
        line = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        line += ["--unshare-cgroup-try", "--die-with-parent", "--new-session"]
        line += ["--hostname", "sandbox", "--clearenv"]
        for name, value in _ENVIRONMENT.items():
            line += ["--setenv", name, value]
        if os.geteuid() == 0:
            line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            line += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
            line += ["--disable-userns"] if "--disable-userns" in _help() else []
        # bubblewrap would make the folders on the way for its own user alone.
        ways = [*_system(), Path(LIB) / "x"]
        for parent in sorted({p for way in ways for p in way.parents if p != Path("/")}):
            line += ["--perms", "0755", "--dir", str(parent)]
        seen = []
        for path in _system():
            if path.is_symlink():
                line += ["--symlink", os.readlink(path), str(path)]
            elif path.exists():
                line += ["--ro-bind", str(path), str(path)]
                seen.append(path.resolve())
        # What lies below a visible folder and must not be seen: installed packages (this one and
        # nbgrader among them), the checks, the gradebook, the submissions.
        for path in {*self.hidden, *_site_packages(), PACKAGE}:
            if path.is_dir() and any(path.is_relative_to(tree) for tree in seen):
                line += ["--tmpfs", str(path), "--remount-ro", str(path)]
        for device in ("null", "zero", "urandom"):
            line += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
        line += ["--ro-bind", str(self.lib / "kernelbook"), f"{LIB}/kernelbook"]
        for name, tree in self.trees.items():
            line += ["--ro-bind", str(tree), f"{LIB}/{name}"]
        line += ["--ro-bind", str(INSIDE), "/sandbox/inside.py"]
        line += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", "/tmp"]
        line += ["--chdir", "/tmp", "--remount-ro", "/"]
        return line + (["--seccomp", str(filter_fd)] if filter_fd is not None else [])

    def run(self, job: dict, limits: Limits | None = None) -> Outcome:
        """Run one job and bring back what it wrote, whatever it did."""
        limits = limits or Limits()
        data = json.dumps(job).encode()
        outcome = Outcome()
        held = set()

        def opened(descriptor):
            held.add(descriptor)
            return descriptor

        def close(descriptor):
            # Once and no more: in another thread the number may be in use again.
            if descriptor in held:
                held.remove(descriptor)
                os.close(descriptor)

        try:
            job_fd = opened(_readable(data))
            filter_ = None if self.unsafe else seccomp.program()
            filter_fd = None if filter_ is None else opened(_readable(filter_))
            results, results_in = map(opened, os.pipe())
            printed, printed_in = map(opened, os.pipe())
            process = subprocess.Popen(
                self.command(job_fd, results_in, filter_fd, limits),
                stdin=subprocess.DEVNULL,
                stdout=printed_in,
                stderr=printed_in,
                pass_fds=[fd for fd in (job_fd, results_in, filter_fd) if fd is not None],
                env=_ENVIRONMENT | {"PATH": os.environ.get("PATH", os.defpath)},
                cwd="/",
                start_new_session=True,
            )
            close(results_in)
            close(printed_in)
            try:
                _collect(process, results, printed, limits, outcome)
            finally:
                # In a sandbox this ends bubblewrap, and with it every process of the namespace.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        finally:
            for descriptor in list(held):
                close(descriptor)
        return outcome


_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def _collect(process, results, printed, limits, outcome):
    """Read both pipes until the process ends, the time is up, or too much was written."""
    texts = {
        results: (bytearray(), limits.returned, "returned"),
        printed: (bytearray(), limits.printed, "printed"),
    }
    end = time.monotonic() + limits.total
    ended = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        for descriptor in (results, printed, ended):
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        over = False
        while not over and outcome.trouble is None:
            ready = {key.fd for key, _ in selector.select(max(0.0, end - time.monotonic()))}
            if not ready:
                outcome.trouble = f"the time limit of {limits.total:g} s ended"
            over = ended in ready
            for descriptor in texts:
                while (chunk := _read(descriptor)) is not None:
                    if not chunk:
                        if descriptor in ready:
                            with contextlib.suppress(KeyError):
                                selector.unregister(descriptor)
                        break
                    text, most, verb = texts[descriptor]
                    text += chunk
                    if len(text) > most:
                        outcome.trouble = f"more than {most >> 20} MB was {verb}"
                        break
    os.close(ended)
    if over and outcome.trouble is None:
        # Looked at, not yet reaped: its number stays its own until its group was ended.
        status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT).si_status
        if status:
            outcome.trouble = f"the code ended the process (status {status})"
    outcome.lines = bytes(texts[results][0]).splitlines()
    outcome.printed = texts[printed][0][-20_000:].decode("utf-8", "replace")


def _read(descriptor):
    """Some bytes, b"" at the end, None when there is nothing now."""
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def _readable(data):
    """A descriptor from which the data can be read, and nothing else done."""
    descriptor = os.memfd_create("job")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write(data)
        return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
    finally:
        os.close(descriptor)


@cache
def _help():
    done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _stranger():
    """A user number that belongs to nobody: not on this machine, and not to another submission."""
    while True:
        uid = random.SystemRandom().randrange(20_000, 60_000)
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid


@cache
def _system():
    """What a Python needs to start: itself, and the shared libraries of the system."""
    paths = ["/usr", "/bin", "/lib", "/lib64", "/lib32", "/nix/store", "/etc/ld.so.cache"]
    paths = [Path(p) for p in paths]
    for prefix in {sys.base_prefix, sys.base_exec_prefix, os.path.realpath(sys.base_prefix)}:
        if not Path(prefix).is_relative_to("/usr"):
            paths.append(Path(prefix))
    return paths


@cache
def _site_packages():
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    places = [*sysconfig.get_paths().values(), *sysconfig.get_paths(vars=base).values()]
    places += [str(p) for p in Path(sys.base_prefix).glob("lib*/python3*/*-packages")]
    places += [str(p) for p in Path("/usr").glob("lib*/python3*/*-packages")]
    places += [str(p) for p in Path("/usr/local").glob("lib*/python3*/*-packages")]
    return {Path(p).resolve() for p in places if p.endswith("-packages")}


@cache
def _trees(package):
    """The folders and files an installed distribution consists of."""
    distribution = metadata.distribution(package)
    tops = {f.parts[0] for f in distribution.files or () if f.parts[0] != ".."}
    found = [Path(distribution.locate_file(top)).resolve() for top in sorted(tops)]
    return [p for p in found if p.exists() and p.name != "__pycache__"]
