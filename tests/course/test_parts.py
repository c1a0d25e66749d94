"""The grader's parts: values, the call filter, the sandbox's two ways of being nobody."""

import os
import struct

import numpy as np
import pytest

import kernelbook
from kernelbook.course.intake.names import safe_name
from kernelbook.course.sandbox import Limits, Sandbox, box, inside, seccomp, view, why_not
from kernelbook.course.values import Refused, compare, decode, encode

from .helpers import needs_sandbox
from .ordinary import as_stranger, python


@pytest.mark.parametrize(
    "value",
    [
        *(1, 2.5, True, None, "text", [1, 2.0], np.float64(3), [np.arange(3), "x"]),
        *(np.arange(6.0).reshape(2, 3), np.array([True, False]), np.zeros((0, 3))),
    ],
)
def test_values_survive_the_way_there_and_back(value):
    there = inside.decode(encode(value))
    back = decode(inside.encode(there))
    flat = lambda x: [np.asarray(v).tolist() for v in x] if isinstance(x, (list, tuple)) else x  # noqa: E731
    np.testing.assert_equal(flat(back), flat(value))


@pytest.mark.parametrize(
    "frame",
    [
        {"dtype": "|O", "shape": [1], "data": "AAAAAAAAAAA="},
        {"dtype": "<f8", "shape": [-1], "data": ""},
        {"dtype": "<f8", "shape": [2], "data": "AAAAAAAAAAA="},
        {"dtype": "<f8", "shape": [10**9, 10**9], "data": ""},
        {"dtype": "<f8", "shape": [True], "data": "AAAAAAAAAAA="},
        {"dtype": "<f8", "shape": [1], "data": "no base64!"},
        {"dtype": ["<f8"], "shape": [1], "data": ""},
        {"items": 3},
        [1],
    ],
)
def test_what_is_not_plain_is_refused(frame):
    with pytest.raises(Refused):
        decode(frame)


def test_comparison_is_strict_about_form_and_lenient_about_rounding():
    a = np.array([1.0, 2.0])
    assert compare(a * (1 + 1e-12), a) is None
    assert compare((1.0, 2.0), a) is None  # a list of numbers is as good as an array
    assert "off by" in compare(a + 1e-3, a)
    assert "shape" in compare(a[None], a)
    assert "shape" in compare(np.zeros((2, 2)), a)
    assert "NaN" in compare(a * np.nan, a)
    assert "nothing" in compare(None, a)
    assert "2 values" in compare(a, (a, a))
    assert "value 2" in compare((a, a + 1), (a, a))
    assert compare(1, 1.0) is None
    assert compare(True, True) is None
    assert "wrong" in compare(np.bool_(False), True)
    assert "True and False" in compare(0.5, True)
    assert compare("a", "b") == "wrong answer"
    assert compare(np.array("a"), 1.0)


def test_magics_do_nothing_and_leave_the_rest():
    text = "%matplotlib inline\nx = 1\n!ls\nprint?\nif x:\n    %time y = 2\n"
    names = {}
    exec(inside.compiled(text, "cell"), names)
    assert names["x"] == 1
    assert inside.without_magics("%%bash\nrm -rf /") == ""
    ordinary = "s = '''\n%not magic\n'''\n"
    exec(inside.compiled(ordinary, "cell"), names)
    assert names["s"] == "\n%not magic\n"
    with pytest.raises(SyntaxError):
        inside.compiled("x = = 1", "cell")


def test_filters_are_well_formed():
    for machine in seccomp.ARCHITECTURES:
        code = [struct.unpack("=HBBI", line) for line in lines(seccomp.program(machine))]
        for at, (opcode, yes, no, _) in enumerate(code):
            if opcode in (seccomp.EQUAL, seccomp.GREATER_EQUAL, seccomp.ANY_BIT):
                assert at + 1 + max(yes, no) < len(code)
        assert code[-1][3] == seccomp.ALLOW
    assert seccomp.program("riscv64") is None


def lines(program):
    return [program[k : k + 8] for k in range(0, len(program), 8)]


def test_names_become_harmless_and_stay_apart():
    assert safe_name("ada.lovelace@x.org") == "ada.lovelace@x.org"
    for name in ("../../etc", "..", ".", "", "a/b", "<script>", "-rf", "x" * 300, "ä", "a\0b"):
        safe = safe_name(name)
        assert safe[0].isalnum()
        assert set(safe) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
        assert len(safe) < 64
    assert safe_name("a/b") != safe_name("a:b")


PROBE = """
import ctypes, os
print("uid", os.getuid(), os.geteuid(), os.getgid())
print("unshare", ctypes.CDLL(None).unshare(0x10000000))
print("write", os.access("/", os.W_OK), os.access("/usr", os.W_OK), os.access("/tmp", os.W_OK))
print("pids", os.getpid() < 10, os.path.exists("/proc"))
"""


def probe(text, **options):
    with Sandbox(packages=(), **options) as box:
        job = {"setup": [], "variants": [{"cells": [(1, text)]}]}
        outcome = box.run(job, limits=Limits(seconds=20))
    return outcome, dict(line.split(" ", 1) for line in outcome.printed.splitlines() if " " in line)


@needs_sandbox
def test_the_code_is_nobody_and_cannot_become_somebody():
    outcome, said = probe(PROBE)
    assert outcome.trouble is None, outcome.printed
    assert "0" not in said["uid"].split()
    assert said["unshare"] == "-1"
    assert said["write"] == "False False False"
    assert said["pids"] == "True False"


@needs_sandbox
def test_the_same_in_a_user_namespace(monkeypatch):
    """What happens when the grader is not root."""
    monkeypatch.setattr(view.os, "geteuid", lambda: 1000)
    outcome, said = probe(PROBE)
    if outcome.trouble and "namespace" in outcome.printed.lower():
        pytest.skip(f"user namespaces are off: {outcome.printed.strip()[-100:]}")
    assert outcome.trouble is None, outcome.printed
    assert said["uid"] == "1000 1000 1000"
    assert said["unshare"] == "-1"
    assert "True" not in said["write"]
    assert said["pids"] == "True False"


@needs_sandbox
def test_the_library_inside_lacks_what_is_asked_for_unless_provided():
    text = f"""
import kernelbook, os
for name in {kernelbook.__all__!r}:
    try:
        getattr(kernelbook, name)
        print("has", name)
    except ImportError:
        pass
print("files", sorted(os.listdir(os.path.dirname(kernelbook.__file__))))
"""
    outcome, said = probe(text)
    assert "has" not in said or outcome.printed.count("has ") == 1, outcome.printed
    assert said.get("has", "__version__") == "__version__"
    assert said["files"] == "['__init__.py']"
    _, said = probe(text, provides=("certificates.py",))
    assert said["files"] == "['__init__.py', 'certificates.py']"


def test_there_is_a_reason_where_there_is_no_sandbox(monkeypatch):
    monkeypatch.setattr(box.shutil, "which", lambda name: None)
    assert "not installed" in why_not.__wrapped__()
    monkeypatch.setattr(box.sys, "platform", "darwin")
    assert "darwin" in why_not.__wrapped__()


@needs_sandbox
def test_folders_below_visible_ones_can_be_hidden():
    folder = next(p for p in ("/usr/lib/ssl", "/usr/lib/apt", "/usr/lib/dpkg") if os.path.isdir(p))
    _, said = probe(f"import os\nprint('holds', os.listdir({folder!r}))", hidden=(folder,))
    assert said["holds"] == "[]"


def test_of_a_conda_installation_only_the_interpreter_and_its_libraries_are_seen(
    monkeypatch, tmp_path
):
    for name in ("bin", "lib/python3.11", "pkgs/scikit-learn", "envs/mine", "conda-meta", "share"):
        (tmp_path / "miniconda3" / name).mkdir(parents=True)
    monkeypatch.setattr(view.sys, "base_prefix", str(tmp_path / "miniconda3"))
    line = view.arguments(tmp_path, {}, (), None)
    sources = [line[k + 1] for k, word in enumerate(line) if word == "--ro-bind"]
    mine = {s.removeprefix(str(tmp_path)) for s in sources if s.startswith(str(tmp_path))}
    assert mine == {"/miniconda3/lib", "/kernelbook"}
    targets = [line[k + 2] for k, word in enumerate(line) if word == "--ro-bind"]
    assert not [t for t in targets if str(tmp_path) in t]


@needs_sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_can_use_the_sandbox(tmp_path):
    """The whole way, without a single right of root."""
    text = f"""
import os
from kernelbook.course.sandbox import Sandbox, why_not
assert os.geteuid() == 12345
assert why_not() is None, why_not()
with Sandbox(packages=()) as box:
    cells = [(1, {PROBE!r})]
    print(box.run({{"setup": [], "variants": [{{"cells": cells}}]}}).printed)
"""

    done = as_stranger(python(), text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "uid 1000 1000 1000" in done.stdout
    assert "unshare -1" in done.stdout
    assert "write False False False" in done.stdout
