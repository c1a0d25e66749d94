"""`make class`: a class of a hundred, generated, graded, and compared with what it has earned.

Fifty honest submissions of mixed quality, twenty damaged files, thirty attacks, for each assignment
named (by default `grls`).  Fails if a point is wrong or a submission is lost.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kernelbook.course.assignment import load  # noqa: E402
from tests.course.classroom import complaints, hand_in  # noqa: E402


def main(names):
    failed = False
    for name in names:
        assignment = load(name, ROOT / "assignments")
        with tempfile.TemporaryDirectory(prefix="kernelbook-class-") as folder:
            root = Path(folder)
            expected = hand_in(root / "in", assignment)
            kinds = Counter(e.kind for e in expected.values())
            print(f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()), flush=True)
            command = [Path(sys.executable).with_name("kernelbook"), "course", "grade", name]
            command += [root / "in", "--course", root / "course", "--jobs", "2"]
            command += ["--assignments", ROOT / "assignments"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            before = before.ru_utime + before.ru_stime
            start = time.monotonic()
            subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, check=True)
            took = time.monotonic() - start
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = used.ru_utime + used.ru_stime - before
            wrong = complaints(root / "course", assignment, expected)
            print(
                f"{len(expected)} graded in {took:.0f} s ({used:.0f} s of CPU time); "
                f"{len(wrong)} complaints"
            )
            print("\n".join(wrong[:20]))
            failed = failed or bool(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["grls"]))
