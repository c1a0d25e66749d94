"""What runs inside the sandbox: the student's cells, then their functions on given inputs.

This file is started alone, with `python -I -S -B _inside.py JOB RESULTS OPTIONS`; it imports
nothing of `kernelbook`.  JOB and RESULTS are descriptors, OPTIONS a JSON object with limits.  It
gives up every privilege before it looks at the job.

Everything here shares a process with code that may be hostile, so nothing here is trusted: a
student can replace any function below, and gains nothing, because there is nothing to gain.  The
process holds no reference values, and its results are only numbers that somebody else compares.

Each result is one line of JSON.  Each question is called in a fork of its own: one that crashes or
never ends leaves the others alone, and the calls of one question cannot see those of another.
"""

import base64
import json
import os
import re
import resource
import signal
import sys
import time
import traceback

MAX_ITEMS = 200_000  # numbers in one returned value


def confine(options):
    """Limits first, then the identity; nothing can be raised again afterwards."""
    for name, value in options["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if options.get("uid"):
        os.setgroups([])
        os.setresgid(options["uid"], options["uid"], options["uid"])
        os.setresuid(options["uid"], options["uid"], options["uid"])


def decode(x):
    """Arguments as the grader wrote them."""
    if isinstance(x, dict):
        import numpy as np

        raw = base64.b64decode(x["data"])
        return np.frombuffer(raw, dtype=x["dtype"]).reshape(x["shape"]).copy()
    return [decode(item) for item in x] if isinstance(x, list) else x


def encode(x, depth=0):
    """Plain values only; whatever else a function returns is an error."""
    import numpy as np

    if depth > 8:
        raise TypeError("the returned value is nested more than 8 deep")
    if x is None or isinstance(x, (str, bool)):
        return x if x is None else str(x) if isinstance(x, str) else bool(x)
    if isinstance(x, (np.ndarray, np.generic)):
        x = np.asarray(x)
        kind = {"b": "|b1", "i": "<i8", "u": "<i8", "f": "<f8"}.get(x.dtype.kind)
        if kind is None:
            raise TypeError(f"an array of dtype {x.dtype} was returned; real numbers are expected")
        if x.size > MAX_ITEMS:
            raise ValueError(f"an array of {x.size} numbers was returned")
        raw = np.ascontiguousarray(x, dtype=kind).tobytes()
        data = base64.b64encode(raw).decode("ascii")
        return {"dtype": kind, "shape": list(x.shape), "data": data}
    if isinstance(x, int):
        return int(x)
    if isinstance(x, float):
        return float(x)
    if isinstance(x, (list, tuple)):
        if len(x) > MAX_ITEMS:
            raise ValueError(f"a list of {len(x)} items was returned")
        return {"items": [encode(item, depth + 1) for item in x]}
    raise TypeError(f"a value of type {type(x).__name__} was returned; numbers are expected")


def explain(error):
    """One line: what went wrong, and where in the notebook."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    places = [f for f in traceback.extract_tb(error.__traceback__) if f.filename[:5] == "cell "]
    return text[:500] + (f" ({places[-1].filename}, line {places[-1].lineno})" if places else "")


class Reporter:
    """Lines of JSON on one descriptor.  A line that was cut short spoils only itself."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def __call__(self, **frame):
        data = b"\n" + json.dumps(frame).encode() + b"\n"
        while data:
            data = data[os.write(self.descriptor, data) :]


def out_of_time(signum, frame):
    raise TimeoutError("this took too long and was stopped")


def without_magics(text):
    """Plain Python: lines for Jupyter (%magic, !command, name?) do nothing here."""
    lines = text.split("\n")
    if lines[0].startswith("%%") and lines[0].split()[0] not in ("%%time", "%%timeit", "%%capture"):
        return ""
    magic = [
        re.match(r"\s*[%!]", line[:200]) or re.search(r"\w\?\?? *$", line[-200:]) for line in lines
    ]
    return "\n".join(
        re.sub(r"\S.*", "pass", line) if is_magic else line
        for line, is_magic in zip(lines, magic, strict=True)
    )


def compiled(text, name):
    """Code for exec.  Compiling, too, happens in here: hostile text can crash the compiler."""
    try:
        return compile(text, name, "exec")
    except SyntaxError:
        plain = without_magics(text)
        if plain == text:
            raise
        return compile(plain, name, "exec")


def run_cells(setup, cells, report, variant, seconds):
    """Run the cells in order; one that fails is reported, and the next one runs all the same."""
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    for number, source in [*((0, source) for source in setup), *cells]:
        report(variant=variant, stage=f"cell {number}")
        try:
            signal.signal(signal.SIGALRM, out_of_time)
            # Set-up cells are ours: slow imports on a busy machine are not the student's fault.
            signal.setitimer(signal.ITIMER_REAL, seconds if number else 0)
            exec(compiled(source, f"cell {number}"), names)
        except BaseException as error:
            report(variant=variant, cell=number, error=explain(error))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return names


def call(names, question, report, variant):
    """All calls of one question."""
    for i, arguments in enumerate(question["calls"]):
        key = {"variant": variant, "question": question["name"], "call": i}
        try:
            if question["function"] not in names:
                raise NameError(f"the notebook defines no function {question['function']}")
            value = names[question["function"]](*decode(arguments))
            report(**key, value=encode(value))
        except BaseException as error:
            report(**key, error=explain(error))


def wait(child, seconds):
    """Wait for a child; end it when its time is up."""
    end, pause = time.monotonic() + seconds, 0.0005
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def isolated(work, seconds, where, report, variant, question=None):
    """Do some work in a fork; in this process only where the system allows no fork."""
    sys.stdout.flush()
    try:
        child = os.fork()
    except OSError:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
        return
    if not child:
        try:
            work()
            sys.stdout.flush()
        finally:
            os._exit(0)
    status = wait(child, seconds)
    if status is None:
        report(variant=variant, question=question, ended=f"{where} was stopped after {seconds:g} s")
    elif status:
        signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        how = f"signal {signal_number}" if signal_number else f"status {os.WEXITSTATUS(status)}"
        report(variant=variant, question=question, ended=f"{where} ended the process ({how})")


def run(job, options, report, number):
    variant = job["variants"][number]
    seconds = options["seconds"]
    names = run_cells(job["setup"], variant["cells"], report, number, seconds)
    for question in job["questions"]:
        name = question["name"]
        report(variant=number, stage=name)
        isolated(
            lambda q=question: call(names, q, report, number), seconds, name, report, number, name
        )


def main():
    options = json.loads(sys.argv[3])
    confine(options)
    sys.path[:0] = options["path"]
    with os.fdopen(int(sys.argv[1]), encoding="utf-8") as stream:
        job = json.load(stream)
    report = Reporter(int(sys.argv[2]))
    if len(job["variants"]) == 1:
        run(job, options, report, 0)
    else:  # only our own tests send several: trusted code, one start for all
        exec("\n".join(job["setup"]), {})  # imports are paid once
        for number in range(len(job["variants"])):
            whole = options["seconds"] * (1 + len(job["questions"]))
            isolated(
                lambda n=number: run(job, options, report, n), whole, "the notebook", report, number
            )
    report(done=True)


if __name__ == "__main__":
    main()
