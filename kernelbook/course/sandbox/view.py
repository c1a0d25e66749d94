"""What is visible in the sandbox, as arguments for bubblewrap.

A Python under a neutral path, the shared libraries of the system, the packages that the assignment
allows, a `kernelbook` without what the assignment asks for.  Of the interpreter's own folder only
the program and `lib` are there: a conda installation keeps whole other environments beside them.
No program but Python, no /proc, no /etc, no home and no path of one.

Nothing can be written: the root is read-only, so there is no disk to fill and no inode to use up.
"""

import os
import subprocess
import sys
import sysconfig
from functools import cache
from importlib import metadata
from pathlib import Path

__all__ = ["ENVIRONMENT", "INSIDE", "LIB", "PACKAGE", "arguments", "trees"]

PACKAGE = Path(__file__).parents[2]
INSIDE = Path(__file__).with_name("inside.py")
LIB = "/sandbox/lib"
PREFIX = Path("/sandbox/python")
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def python() -> Path:
    """The interpreter's path inside."""
    return PREFIX / "bin" / os.path.basename(os.path.realpath(sys.executable))


def arguments(lib: Path, packages: dict[str, Path], hidden, filter_fd) -> list[str]:
    """The command line of bubblewrap, up to the command that runs inside.

    lib: a folder that holds `kernelbook` as it is to be seen.
    packages: names and places of what can be imported beside it.
    hidden: folders that must not be seen even where they lie below something that is.
    """
    line = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    line += ["--unshare-cgroup-try", "--die-with-parent", "--new-session"]
    line += ["--hostname", "sandbox", "--clearenv"]
    for name, value in (ENVIRONMENT | {"LD_LIBRARY_PATH": str(PREFIX / "lib")}).items():
        line += ["--setenv", name, value]
    if os.geteuid() == 0:
        line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        line += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
        line += ["--disable-userns"] if "--disable-userns" in _help() else []
    mounts = [*_system(), *_interpreter()]
    # bubblewrap would make the folders on the way for its own user alone.
    ways = [*(target for _, target in mounts), Path(LIB) / "x", Path("/tmp/x")]
    for parent in sorted({p for way in ways for p in way.parents if p != Path("/")}):
        line += ["--perms", "0755", "--dir", str(parent)]
    for source, target in mounts:
        if source == target and source.is_symlink():
            line += ["--symlink", os.readlink(source), str(target)]
        else:
            line += ["--ro-bind", str(source), str(target)]
    # What lies below a visible folder and must not be seen: installed packages (this one and
    # nbgrader among them), the checks, the gradebook, the submissions.
    for path in {*hidden, *_site_packages(), PACKAGE}:
        for source, target in mounts:
            if path.is_dir() and path.is_relative_to(source.resolve()):
                below = str(target / path.relative_to(source.resolve()))
                line += ["--tmpfs", below, "--remount-ro", below]
    for device in ("null", "zero", "urandom"):
        line += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    line += ["--ro-bind", str(lib / "kernelbook"), f"{LIB}/kernelbook"]
    for name, tree in packages.items():
        line += ["--ro-bind", str(tree), f"{LIB}/{name}"]
    line += ["--ro-bind", str(INSIDE), "/sandbox/inside.py"]
    line += ["--chdir", "/", "--remount-ro", "/"]
    return line + (["--seccomp", str(filter_fd)] if filter_fd is not None else [])


def _system():
    """The shared libraries of the system, in their own places."""
    paths = ["/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/lib32"]
    paths += ["/etc/ld.so.cache"]
    if sys.base_prefix.startswith("/nix/store"):
        paths.append("/nix/store")
    return [(Path(p), Path(p)) for p in paths if os.path.lexists(p)]


def _interpreter():
    """(source, target) of the program and of its libraries."""
    prefix = Path(sys.base_prefix)
    found = [(Path(os.path.realpath(sys.executable)), python())]
    for name in ("lib", "lib64"):
        if (prefix / name).is_dir():
            found.append(((prefix / name).resolve(), PREFIX / name))
    return found


@cache
def _site_packages():
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    places = [*sysconfig.get_paths().values(), *sysconfig.get_paths(vars=base).values()]
    for prefix in {sys.base_prefix, "/usr", "/usr/local"}:
        places += [str(p) for p in Path(prefix).glob("lib*/python3*/*-packages")]
    return {Path(p).resolve() for p in places if p.endswith("-packages")}


@cache
def trees(package):
    """The folders and files an installed distribution consists of."""
    distribution = metadata.distribution(package)
    tops = {f.parts[0] for f in distribution.files or () if f.parts[0] != ".."}
    found = [Path(distribution.locate_file(top)).resolve() for top in sorted(tops)]
    return [p for p in found if p.exists() and p.name != "__pycache__"]


@cache
def _help():
    done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
