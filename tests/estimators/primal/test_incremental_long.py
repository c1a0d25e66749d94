"""IncrementalSVMClassifier, when it takes long: an interrupt keeps the steps, BLAS one thread."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_info, threadpool_limits

from kernelbook import IncrementalSVMClassifier
from kernelbook.solvers.primal.growing import hinge
from kernelbook.solvers.primal.growing.factor import GrowingFactor


@pytest.mark.parametrize("stop", [None, "held_out"])
@pytest.mark.parametrize(
    "place",
    ["hinge.active_set_solve", "factor.GrowingFactor.append"],
)
def test_an_interrupted_path_keeps_its_steps(place, stop, monkeypatch):
    """Whether the interrupt comes while the fourth function is solved for, or before."""
    X, y = make_moons(80, noise=0.2, random_state=0)
    model = IncrementalSVMClassifier(max_basis=6, stop=stop, patience=None, random_state=0)
    real = hinge.active_set_solve if "active_set" in place else GrowingFactor.append

    def impatient(*args):
        wide = args[0].shape[1] if "active_set" in place else len(args[0].chosen) + 1
        if wide == 4:
            raise KeyboardInterrupt
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(f"kernelbook.solvers.primal.growing.{place}", impatient)
        with pytest.raises(KeyboardInterrupt, match="first 3 functions of max_basis=6"):
            model.fit(X, y)
    short = clone(model).set_params(max_basis=3).fit(X, y)
    assert [s.objective for s in model.path_] == [s.objective for s in short.path_]
    assert np.array_equal(model.selected_, short.selected_)
    assert model.n_basis_ == short.n_basis_
    for k in (None, 1, 3):
        f = model.decision_function(X, n_basis=k)
        assert np.array_equal(f, short.decision_function(X, n_basis=k))
    with pytest.raises(ValueError, match="from 1 to 3"):
        model.predict(X, n_basis=4)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_step_keeps_blas_to_one_thread(monkeypatch):
    """Threads that wait for each other in a thousand small factorizations cost five times."""

    def threads():
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    inside, real = [], hinge.proximal_multipliers

    def watched(*args, **options):
        inside.append(threads())
        return real(*args, **options)

    monkeypatch.setattr(hinge, "proximal_multipliers", watched)
    X, y = make_moons(40, noise=0.2, random_state=0)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        IncrementalSVMClassifier(max_basis=2).fit(X, y)
        assert threads() == before
    assert len(inside) == 3
    assert {n for row in inside for n in row} == {1}
