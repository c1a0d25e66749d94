"""Make or refresh the project's environment, `.venv`, from the lock file.

Run by every make target.  It does nothing when the environment already matches
`requirements.txt` and `pyproject.toml`, and ends in one clear sentence when it
cannot do its work.  The syntax stays old on purpose: a Python that is too old must
still be able to read this file and say so.
"""

import hashlib
import os
import subprocess
import sys

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "kernelbook-lock.sha256")
# Is the environment's interpreter alive, and the one we were asked to use?
SAME = "import sys; sys.exit(sys.version_info[:2] != (%d, %d))" % sys.version_info[:2]


def stop(sentence):
    sys.stderr.write("kernelbook: " + sentence + "\n")
    sys.exit(1)


def digest():
    """What the environment was made from: lock, metadata, interpreter, and the place it is in."""
    h = hashlib.sha256((sys.version + ROOT).encode())
    for name in ("requirements.txt", "pyproject.toml", "tools/environment.py"):
        with open(os.path.join(ROOT, name), "rb") as f:
            h.update(f.read())
    return h.hexdigest()


def run(command, sentence):
    """Run quietly; on failure show what the command said, then the sentence."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )
    said = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode:
        sys.stderr.write("\n".join(said.strip().split("\n")[-15:]) + "\n")
        stop(sentence)


def moved():
    """Commands of an environment name its interpreter by its full path: it cannot be moved."""
    try:
        with open(os.path.join(VENV, "bin", "pip"), "rb") as f:
            return (VENV + "/").encode() not in f.read(1000)
    except (IOError, OSError):
        return True


def locked(name):
    """A file in .venv with the lock's own lines for one package: its version and its hashes."""
    with open(os.path.join(ROOT, "requirements.txt")) as f:
        lines = f.read().replace("\\\n", " ").split("\n")
    path = os.path.join(VENV, name + ".txt")
    with open(path, "w") as f:
        f.write(next(line for line in lines if line.startswith(name + "==")) + "\n")
    return path


def main():
    if sys.version_info[:2] < OLDEST:
        stop(
            "Python {0}.{1} or newer is needed, but {2} is {3}.{4}; install a newer one "
            "or name it: make PYTHON=python3.12".format(
                OLDEST[0], OLDEST[1], sys.executable, *sys.version_info[:2]
            )
        )
    want = digest()
    if os.path.exists(PYTHON) and os.path.exists(STAMP):
        with open(STAMP) as f:
            if f.read() == want:
                return
    print("Setting up .venv from requirements.txt (a minute or two, once) ...")
    sys.stdout.flush()
    usable = not moved() and subprocess.call([PYTHON, "-c", SAME]) == 0
    run(
        [sys.executable, "-m", "venv", VENV] + ["--clear"] * (not usable),
        "could not create .venv; on Debian and Ubuntu install python3-venv, then try again.",
    )
    reach = "; check that the package index can be reached, then run the same command again."
    # uv installs the lock in seconds where pip needs minutes; pip fetches uv.  A file that is not
    # the one the lock was made from is refused, and nothing is built or fetched beside the lock.
    pip = [PYTHON, "-m", "pip", "install", "-q", "--require-hashes", "--only-binary", ":all:"]
    run(pip + ["-r", locked("uv")], "could not install uv" + reach)
    uv = [os.path.join(VENV, "bin", "uv"), "pip", "install", "-q", "--python", PYTHON]
    exact = ["--require-hashes", "--only-binary", ":all:", "-r", "requirements.txt"]
    run(uv + exact, "could not install requirements.txt" + reach)
    here = ["--no-deps", "--no-build-isolation", "-e", "."]
    run(uv + here, "could not install the package kernelbook itself" + reach)
    with open(STAMP, "w") as f:
        f.write(want)


if __name__ == "__main__":
    main()
