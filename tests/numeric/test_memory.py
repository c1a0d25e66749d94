"""What is free, from files as Linux writes them; every learner asks before it allocates."""

import numpy as np
import pytest

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    IncrementalSVMClassifier,
    KernelBasis,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
    ThinPlate,
    svm_path,
)
from kernelbook.numeric import memory

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 2))
Y = X[:, 0] * X[:, 1] > 0
GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A place for the files of the system, empty, and a function that fills it."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    write(proc__meminfo="MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n")
    return write


def group(folder, version, limit, used, droppable):
    limit_name, usage, key = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.max", "memory.current", "inactive_file"),
    }[version]
    stat = f"anon 17\n{key} {droppable}\nactive_file 5\n"
    files = {limit_name: f"{limit}\n", usage: f"{used}\n", "memory.stat": stat}
    return {f"cgroup__{folder}__{name}": text for name, text in files.items()}


def test_available_is_what_the_machine_calls_so(system):
    assert memory.available() == 8 * GIB


def test_a_limit_of_a_group_above_counts_and_files_that_can_be_dropped_do_not(system):
    system(proc__self__cgroup="0::/batch/job\n")
    system(**group("batch__job", 2, "max", GIB, 0))
    assert memory.available() == 8 * GIB
    system(**group("batch", 2, 3 * GIB, 2 * GIB, GIB // 2))
    assert memory.available() == 1.5 * GIB


def test_the_first_version_of_groups_and_a_path_that_is_not_mounted(system):
    system(proc__self__cgroup="5:cpu:/x\n4:memory,hugetlb:/of/the/host\n")
    system(**group("memory", 1, 4 * GIB, 3 * GIB, 0))
    assert memory.available() == GIB


def test_a_group_over_its_limit_leaves_nothing(system):
    system(proc__self__cgroup="0::/\n", **group(".", 2, GIB, 2 * GIB, 0))
    assert memory.available() == 0.0


def test_a_limit_on_the_address_space(system, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (3 * GIB, 3 * GIB))
    system(proc__self__statm=f"{GIB // resource.getpagesize()} 7 7\n")
    assert memory.available() == 2 * GIB


def test_without_files_it_is_the_memory_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "PROC", tmp_path)
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    assert 2**28 < memory.available() < 2**50


@pytest.mark.parametrize(
    ("model", "needed", "remedy"),
    [
        (SVMGBClassifier(), "in single precision", "PrimalSVMClassifier.*n_centers=1000"),
        (SVMGBClassifier(solver="robust"), "solver='robust'", "PrimalSVMClassifier"),
        (SVMGBClassifier(ThinPlate(), Polynomials(1)), "for the Gram matrix", "GRLSClassifier"),
        (SVMGBClassifier("precomputed"), "for the Gram matrix", "pass the points and a kernel"),
        (PrimalSVMClassifier(), "1200 basis functions", "centers='subset'"),
        (PrimalSVMClassifier(KernelBasis(Gaussian())), "1200 basis functions", "centers='subset'"),
        (IncrementalSVMClassifier(max_basis=5), "1200 basis functions", "centers='subset'"),
        (GRLSRegressor(solver="cg", n_centers=300), "n_centers=300", "a smaller n_centers"),
        (GRLSClassifier(solver="nystrom", n_centers=900), "n_centers=900", "a smaller n_centers"),
        (
            GRLSRegressor(Gaussian(0.3), reg=1e-2, solver="fourier"),
            "transforms",
            "solver='nystrom'",
        ),
    ],
    ids=lambda value: f"{value!r:.60}",
)
def test_a_fit_that_would_not_fit_says_what_it_needs_and_what_does_not(
    model, needed, remedy, monkeypatch
):
    """Before anything is allocated: with that little, NumPy itself would not have complained."""
    monkeypatch.setattr(memory, "ALWAYS_THERE", 0)
    monkeypatch.setattr(memory, "available", lambda: 2.0**19)
    rows = X @ X.T if getattr(model, "kernel", None) == "precomputed" else X
    with pytest.raises(MemoryError, match=rf"needs? .* are free: .*{remedy}") as error:
        model.fit(rows, 1.0 * Y if isinstance(model, GRLSRegressor) else Y)
    assert needed in str(error.value)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_several_classes_ask_for_their_blocks_or_for_the_whole(monkeypatch):
    monkeypatch.setattr(memory, "ALWAYS_THERE", 0)
    monkeypatch.setattr(memory, "available", lambda: 2.0**19)
    y = np.arange(1200) % 4
    with pytest.raises(MemoryError, match="4 classes of up to 300 samples need"):
        SVMGBClassifier().fit(X, y)
    with pytest.raises(MemoryError, match=r"m=1200 samples need .* single precision"):
        SVMGBClassifier(multiclass="ovr").fit(X, y)
    with pytest.raises(MemoryError, match=r"need .* solver='robust'"):
        SVMGBClassifier(solver="robust").fit(X, y)


def test_the_path_and_the_deviation_ask_too(monkeypatch):
    learner = GRLSRegressor(reg=1e-2).fit(X[:300], Y[:300])
    monkeypatch.setattr(memory, "ALWAYS_THERE", 0)
    monkeypatch.setattr(memory, "available", lambda: 2.0**19)
    with pytest.raises(MemoryError, match=r"m=300 samples need .*part of the sample"):
        learner.predict(X[:3], return_std=True)
    for call in (learner.criteria, lambda: learner.test_component("Gaussian")):
        with pytest.raises(MemoryError, match=r"m=300 .* 3 more like it.*part of the sample"):
            call()
    with pytest.raises(MemoryError, match=r"m=300 .* 4 more like it.*some values of C"):
        svm_path(Gaussian()(X[:300]), None, np.where(Y, 1.0, -1.0)[:300])


def test_an_error_of_the_users_own_is_left_alone():
    room = memory.room_for(1.0, "all of it needs {}", "take less.")
    with pytest.raises(MemoryError, match=r"^mine$"), room:
        raise MemoryError("mine")
