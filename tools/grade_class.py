"""`make class`: a class of a hundred, generated, graded, and compared with what it has earned.

Fifty honest submissions of mixed quality, twenty damaged files and thirty hostile ones, spread over
all assignments (or those that are named), half of them in export zip files; the roster has two
students of one name, and some are late.  Prints what was due beside what was given.  Fails if a
point, a day or an answer is wrong, if a submission is lost, or if grading takes over five minutes.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kernelbook.course.assignment import load, names  # noqa: E402
from tests.course.classroom import compared, hand_in, handed_in, table  # noqa: E402

MOST_SECONDS = 300.0
JOBS = 2


def main(chosen):
    masters = ROOT / "assignments"
    assignments = [load(name, masters) for name in chosen or names(masters)]
    complaints, counts, took, used = [], Counter(), 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="kernelbook-class-") as folder:
        folder = Path(folder)
        expected = hand_in(folder, assignments)
        print(f"load before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} processors, {JOBS} jobs")
        for assignment in assignments:
            here = expected[assignment.name]
            seconds, cpu = graded(assignment, folder, masters)
            took, used = took + seconds, used + cpu
            wrong, more = compared(folder / "course", assignment, here)
            complaints += [f"{assignment.name}: {text}" for text in wrong]
            counts.update(more)
            print(
                f"{assignment.name:<10}{len(here):>3} submissions{seconds:>7.0f} s"
                f"{cpu:>7.0f} s of CPU time  {len(wrong)} complaints",
                flush=True,
            )
    print(table(counts))
    print("\n".join(complaints[:20]))
    n = counts_of(counts, "handed in")
    print(
        f"{n} submissions in {took:.0f} s ({used:.0f} s of CPU time), {len(complaints)} complaints"
    )
    if took > MOST_SECONDS:
        print(f"more than the {MOST_SECONDS:.0f} s that a class may take")
    return bool(complaints) or took > MOST_SECONDS


def counts_of(counts, what):
    return sum(n for (_, w, side), n in counts.items() if (w, side) == (what, "given"))


def graded(assignment, folder, masters):
    """Run the command as a lecturer would; its seconds, and those of the processors."""
    command = [Path(sys.executable).with_name("kernelbook"), "course", "grade", assignment.name]
    command += [handed_in(folder, assignment), "--course", folder / "course"]
    command += ["--jobs", JOBS, "--assignments", masters]
    before, start = cpu_seconds(), time.monotonic()
    subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start, cpu_seconds() - before


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
