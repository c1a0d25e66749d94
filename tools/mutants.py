"""`make mutants`: change the code, and see whether the tests notice.

A mutant is a module with one change: a comparison turned or made strict, an operator exchanged for
its opposite, a number moved, a condition negated, an `and` for an `or`, a minimum for a maximum.
It is killed if the module's tests fail, or take ten times as long.  Mutants are numbered in the
order of the source, and drawn evenly where there are more than `--most`.

A process loads what does not change and forks for each mutant; the child imports the changed module
in place of the file, which is never touched, and runs the tests interpreted (NUMBA_DISABLE_JIT=1),
so that compiled code is mutated, too.  Results go to `_build/mutants.jsonl`; a run goes on where
the last one ended, as long as source and tests are the same.

A survivor is a missing test, or a mutant that changes no result: `tools/mutants.toml` lists those
that are known, each with a reason.  Ends with 1 if fewer than 95 % of all others are killed.
"""

import ast
import copy
import hashlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tools" / "mutants.toml"
WANTED = 0.95

SVM, GRLS = "tests/solvers/svm", "tests/solvers/grls"
TARGETS = {
    "certificates": ["tests/test_certificates.py"],
    "solvers.svm.certificate": [f"{SVM}/test_certificate.py", f"{SVM}/test_solve.py"],
    "solvers.svm.feasibility": [f"{SVM}/test_feasibility.py"],
    "solvers.svm.multipliers": [f"{SVM}/test_multipliers.py"],
    "solvers.svm.smo": [f"{SVM}/test_robust.py", "-k", "smo or rectangle or curvature or faces"],
    "solvers.grls.problem": [f"{GRLS}/test_every_method.py"],
    "solvers.grls.solution": [f"{GRLS}/test_every_method.py"],
    "solvers.grls.saddle_factor": [f"{GRLS}/test_every_method.py"],
    "numeric.pairwise.profiles": ["tests/numeric/pairwise/test_profiles.py"],
    "course.grading.credit": ["tests/course/test_credit.py"],
    "course.values": ["tests/course/test_credit.py"],
}
"""The modules of `kernelbook` that matter, and the tests that are to hold them."""

OPPOSITE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult, ast.FloorDiv: ast.Div, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.USub: ast.UAdd,
}  # fmt: skip
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
PAIRS = "min max", "minimum maximum", "any all", "argmin argmax", "zeros ones"
NAMES = {a: b for pair in map(str.split, PAIRS) for a, b in (pair, pair[::-1])}


def changes(node):
    """The ways to change a node: (what it is, a function that changes it in place)."""

    def put(**fields):
        return lambda n: [setattr(n, key, value) for key, value in fields.items()]

    if isinstance(node, ast.Compare):
        for table, what in ((OPPOSITE, "other"), (TURNED, "turned")):
            if type(node.ops[0]) in table:
                yield what, put(ops=[table[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp | ast.UnaryOp):
        if type(node.op) in OPPOSITE:
            yield "other", put(op=OPPOSITE[type(node.op)]())
        elif isinstance(node.op, ast.Not):
            yield "not", put(operand=ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "negated", put(test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        other = node.value + 1 if isinstance(node.value, int) else 2 * node.value or 1.0
        yield "number", put(value=other)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "bool", put(value=not node.value)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield "name", put(id=NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "name", put(attr=NAMES[node.attr])


def sites(tree):
    """Every node inside of functions that computes, in the order of the source."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        body = ast.Module(function.body, [])
        said = {
            id(inner)
            for node in ast.walk(body)
            if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef)
            for inner in ast.walk(node)
        }
        for node in ast.walk(body):
            if id(node) not in said:
                yield node


def mutants(source):
    """[(key, source)] of all mutants; a key is the line of the source and what was changed."""
    tree = ast.parse(source)
    lines, found = source.splitlines(), []
    for index, node in enumerate(sites(tree)):
        for kind, change in changes(node):
            other = copy.deepcopy(tree)
            change(list(sites(other))[index])
            text = ast.unparse(ast.fix_missing_locations(other))
            place = f"{lines[node.lineno - 1].strip()} | {kind} {node.col_offset}"
            found.append((node.lineno, place, text))
    seen, out = set(), []
    for _, key, text in sorted(found, key=lambda item: item[0]):
        while key in seen:
            key += "'"
        seen.add(key)
        out.append((key, text))
    return out


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from another source."""

    def __init__(self, name, source, path):
        self.name, self.source, self.path = name, source, path

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.path, loader=self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def run_tests(name, source, path, tests, limit):
    """0 where the tests of the changed module pass, in a child that may not take forever."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(int(limit) + 1)
        code = 1
        try:
            import pytest

            sys.meta_path.insert(0, Changed(name, source, path))
            options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header"]
            with (
                open(os.devnull, "w") as nothing,
                redirect_stdout(nothing),
                redirect_stderr(nothing),
            ):
                code = int(pytest.main([*options, *tests]))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def evenly(items, most):
    return items if len(items) <= most else [items[i * len(items) // most] for i in range(most)]


def known():
    return tomllib.loads(KNOWN.read_text()) if KNOWN.exists() else {}


@click.command()
@click.option("--most", default=60, show_default=True, help="Mutants of a module.")
@click.option("--output", default=ROOT / "_build" / "mutants.jsonl", type=Path)
@click.argument("names", nargs=-1)
def main(most, output, names):
    """Mutate the modules that matter, or those NAMES of them."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ["HYPOTHESIS_PROFILE"] = "gate"
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for shared in ("pytest", "scipy.linalg", "scipy.optimize", "sklearn.base", "numba"):
        importlib.import_module(shared)

    output.parent.mkdir(exist_ok=True)
    lines = output.read_text().splitlines() if output.exists() else []
    done = {(r["module"], r["digest"], r["mutant"]): r for r in map(json.loads, lines)}
    total = killed = 0
    with output.open("a") as log:
        for name in names or TARGETS:
            path = ROOT / "kernelbook" / (name.replace(".", "/") + ".py")
            source, tests = path.read_text(), TARGETS[name]
            files = [ROOT / test for test in tests if test.endswith(".py")]
            evidence = source + "".join(path.read_text() for path in files)
            digest = hashlib.sha256(evidence.encode()).hexdigest()[:12]
            start = time.monotonic()
            module = f"kernelbook.{name}"
            if run_tests(module, source, path, tests, 600):
                raise click.ClickException(f"{' '.join(tests)} fail without a mutant")
            limit = 10.0 * (time.monotonic() - start) + 10.0
            excused, survivors = known().get(name, {}), []
            for key, text in tqdm(evenly(mutants(source), most), desc=name, unit="mutant"):
                record = done.get((name, digest, key))
                if record is None:
                    code = run_tests(module, text, path, tests, limit)
                    record = {"module": name, "digest": digest, "mutant": key, "killed": code != 0}
                    log.write(json.dumps(record, ensure_ascii=False) + "\n")
                    log.flush()
                if key not in excused:
                    total, killed = total + 1, killed + record["killed"]
                    survivors += [] if record["killed"] else [key]
            for key in survivors:
                click.echo(f"  survives: {key}")
    click.echo(f"{killed} of {total} mutants killed ({killed / max(total, 1):.0%})")
    sys.exit(killed < WANTED * total)


if __name__ == "__main__":
    main()
