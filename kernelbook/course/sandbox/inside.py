"""What runs inside the sandbox: the student's cells, then their functions on given inputs.

This file is started alone, with `python -I -S -B inside.py OPTIONS`; it imports nothing of
`kernelbook`.  OPTIONS is a JSON object with limits and descriptors.  It gives up every privilege
before it looks at the job.

Everything here shares a process with code that may be hostile, so nothing here is trusted: a
student can replace any function below, and gains nothing, because there is nothing to gain.  The
process holds no reference values, its results are only numbers that somebody else compares, and
the inputs arrive when the cells have run and what they wrote was set aside.  The limits that count
are the kernel's and the grader's; those below only keep one question from spoiling the next.

Each result is one line of JSON.  Each question is called in a fork of its own: one that crashes or
never ends leaves the others alone, and the calls of one question cannot see those of another.
"""

import base64
import contextlib
import io
import json
import math
import os
import re
import resource
import signal
import sys
import time
import traceback

MAX_ITEMS = 200_000  # numbers in one returned array
MAX_LIST = 5_000  # items in one returned list
PATIENCE = SLOWEST = 1.0  # how long a step may wait; set by OPTIONS


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
        if len(x) > MAX_LIST:
            raise ValueError(f"a list of {len(x)} items was returned")
        return {"items": [encode(item, depth + 1) for item in x]}
    raise TypeError(f"a value of type {type(x).__name__} was returned; numbers are expected")


def explain(error):
    """One line: what went wrong, and where in the notebook."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    places = [
        f for f in traceback.extract_tb(error.__traceback__, -30) if f.filename[:5] == "cell "
    ]
    return " ".join(text[:300].split()) + (
        f" ({places[-1].filename}, line {places[-1].lineno})" if places else ""
    )


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
        for plain in (without_magics(text), without_magics(text.translate(TYPOGRAPHIC))):
            if plain != text:
                with contextlib.suppress(SyntaxError):
                    return compile(plain, name, "exec")
        raise


# What a word processor makes of quotes, dashes and spaces.
TYPOGRAPHIC = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2212\u2013", "-")
    | {"\u00a0": " ", "\u200b": "", "\ufeff": ""}
)


def alarms(seconds):
    """Ask to be interrupted after so much computing, or after waiting for a few times as long."""
    start, used = time.monotonic(), time.process_time()

    def waited(signum, frame):
        most = PATIENCE * seconds + SLOWEST * (time.process_time() - used)
        if (left := start + most - time.monotonic()) <= 0:
            out_of_time(signum, frame)
        signal.setitimer(signal.ITIMER_REAL, left)

    signal.signal(signal.SIGPROF, out_of_time)
    signal.signal(signal.SIGALRM, waited)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds)


def run_cells(setup, cells, report, variant, seconds):
    """Run the cells in order; one that fails is reported, and the next one runs all the same."""
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    for number, source in [*((0, source) for source in setup), *cells]:
        report(variant=variant, stage=f"cell {number}")
        try:
            # Set-up cells are ours: slow imports on a busy machine are not the student's fault.
            alarms(seconds if number else 0)
            exec(compiled(source, f"cell {number}"), names)
        except BaseException as error:
            report(variant=variant, cell=number, error=explain(error))
        finally:
            alarms(0)
    return names


class Discarded(io.TextIOBase):
    """Takes what is printed, and keeps none of it."""

    def write(self, text):
        return len(text)


def public_checks(names, checks, report, variant, seconds):
    """The checks that students see, each in a fork of its own; what they say is only a remark."""

    def check(question, source):
        try:
            # Not /dev/null: a sandbox may be unable to open it.
            with contextlib.redirect_stdout(Discarded()):
                exec(compiled(source, "the public check"), names)
        except BaseException as error:
            report(variant=variant, check=question, error=explain(error))

    for question, source in checks.items():
        isolated(lambda q=question, s=source: check(q, s), seconds, report, variant)


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
    """Wait for a child; end it when it has waited too long itself."""
    end, pause = time.monotonic() + seconds, 0.0005
    clock = ~child << 3 | 2  # of its CPU time; see clock_getcpuclockid(3)
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > end + SLOWEST * time.clock_gettime(clock):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def isolated(work, seconds, report, variant, question=None):
    """Do some work in a fork; in this process only where the system allows no fork."""
    sys.stdout.flush()
    limit = math.ceil(seconds)
    try:
        child = os.fork()
    except OSError:
        alarms(seconds)
        work()
        alarms(0)
        return
    if not child:
        try:
            # The kernel's own limit: no clock that the code could replace.
            hard = min(limit + 1, resource.getrlimit(resource.RLIMIT_CPU)[1])
            resource.setrlimit(resource.RLIMIT_CPU, (min(limit, hard), hard))
            work()
            sys.stdout.flush()
        finally:
            os._exit(0)
    status = wait(child, PATIENCE * seconds)
    over = status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    if status is None or over:
        report(variant=variant, question=question, ended="time" if over else "waiting")
    elif status:
        by_signal = os.WIFSIGNALED(status)
        number = os.WTERMSIG(status) if by_signal else os.WEXITSTATUS(status)
        how = "signal" if by_signal else "status"
        report(variant=variant, question=question, ended=how, number=number)


def call_all(names, questions, options, report, number):
    for question in questions:
        name = question["name"]
        report(variant=number, stage=name)
        isolated(
            lambda q=question: call(names, q, report, number),
            options["seconds"],
            report,
            number,
            name,
        )


def hidden_inputs(options, report):
    """Say that the cells have run, and wait for the inputs."""
    sys.stdout.flush()
    report(ready=True)
    os.read(options["go"], 1)
    with os.fdopen(options["hidden"], encoding="utf-8") as stream:
        return json.load(stream)


def main():
    global PATIENCE, SLOWEST
    options = json.loads(sys.argv[1])
    PATIENCE, SLOWEST = options["patience"], options["slowest"]
    confine(options)
    sys.path[:0] = options["path"]
    with os.fdopen(options["job"], encoding="utf-8") as stream:
        job = json.load(stream)
    report = Reporter(options["results"])
    setup, variants, seconds = job["setup"], job["variants"], options["seconds"]
    if len(variants) == 1:
        names = run_cells(setup, variants[0]["cells"], report, 0, seconds)
        public_checks(names, job.get("checks", {}), report, 0, min(seconds, 2.0))
        questions = hidden_inputs(options, report)
        call_all(names, questions, options, report, 0)
    else:  # only our own tests send several: trusted code, one start for all
        exec("\n".join(setup), {})  # imports are paid once
        questions = hidden_inputs(options, report)

        def whole(number):
            names = run_cells(setup, variants[number]["cells"], report, number, seconds)
            call_all(names, questions, options, report, number)

        for number in range(len(variants)):
            most = seconds * (1 + len(questions))
            isolated(lambda n=number: whole(n), most, report, number)
    report(done=True)


if __name__ == "__main__":
    main()
