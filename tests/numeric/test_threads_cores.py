"""While a loop lasts, everybody is on a core of its own; afterwards all is as it was."""

import os
import signal
import threading
from functools import cache

import pytest

from kernelbook.numeric import threads
from kernelbook.numeric.threads import n_threads, parallel_for


def here():
    """The cores that this thread may run on."""
    return frozenset(os.sched_getaffinity(0))


@pytest.fixture
def cores():
    """All cores; afterwards this thread must be allowed to use them again."""
    if threads._current_core is None:
        pytest.skip("threads cannot be told where to run here")
    if min(len(here()), n_threads()) < 2:
        pytest.skip("there is one core only")
    before = here()
    yield before
    left = here()
    os.sched_setaffinity(0, before)  # a fault of one test must not become that of the next
    assert left == before
    assert not vars(threads._this)


@pytest.fixture
def fresh(monkeypatch):
    """A pool whose threads have not been started."""
    monkeypatch.setattr(threads, "_pool", cache(threads._Pool))


@pytest.fixture
def sent(monkeypatch):
    """Who was sent to which cores."""
    calls, send = [], threads._send
    monkeypatch.setattr(
        threads, "_send", lambda thread, to: (calls.append((thread, to)), send(thread, to))
    )
    return calls


def together(task):
    """A loop of two tasks on two threads: neither ends before the other has begun."""
    both = threading.Barrier(2, timeout=30)
    parallel_for(lambda i: (both.wait(), task(i)), 2)


def seen_by(look):
    """(what the caller sees, what the helper sees) while a loop lasts."""
    caller, seen = threading.get_ident(), {}
    together(lambda _: seen.update({threading.get_ident() == caller: look()}))
    return seen[True], seen[False]


def elsewhere(function, seconds=60):
    """Call it on a thread of its own, and fail instead of waiting for ever."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "a deadlock"
    return result[0]


def test_everybody_has_cores_of_their_own_while_a_loop_lasts(cores):
    for _ in range(5):
        mine, theirs = seen_by(here)
        assert len(mine) == 1
        assert mine < cores
        assert theirs == cores - mine
        assert here() == cores


@pytest.mark.parametrize("choose", [min, max])
def test_the_caller_stays_where_it_is(cores, choose, fresh, monkeypatch):
    """The first loop starts its helper while the caller is held; then that one moves."""
    for core in (choose(cores), *sorted(cores)):
        monkeypatch.setattr(threads, "_current_core", lambda core=core: core)
        for _ in range(2):
            assert seen_by(here) == ({core}, cores - {core})
            assert here() == cores


def test_who_is_in_place_is_not_sent_again(cores, fresh, sent, monkeypatch):
    monkeypatch.setattr(threads, "_current_core", lambda: min(cores))
    for _ in range(3):
        seen_by(here)
    others = cores - {min(cores)}
    assert [to for thread, to in sent if thread == 0 and to != others] == [{min(cores)}, cores] * 3
    started = len(threads._pool()._ids)  # a second one, if the first was not back in time
    assert [to for _, to in sent].count(others) == started


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("on_caller", [True, False])
def test_an_exception_lets_the_caller_go(cores, error, on_caller):
    caller = threading.get_ident()

    def task(_):
        assert here() != cores
        if (threading.get_ident() == caller) == on_caller:
            raise error("a task")

    with pytest.raises(error, match="a task"):
        together(task)
    assert here() == cores
    assert seen_by(here)[1] < cores  # and the helper is as good as before


def test_an_interrupt_from_the_keyboard_lets_the_caller_go(cores, interruptible):
    assert threading.current_thread() is threading.main_thread()

    def task(_):
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        together(task)
    assert here() == cores
    assert not vars(threads._this)


def test_an_interrupt_may_come_as_soon_as_the_caller_is_held(cores, monkeypatch):
    send, calls = threads._send, []

    def interrupted(thread, to):
        send(thread, to)
        calls.append(to)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(threads, "_send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parallel_for(lambda i: None, 4)
    assert here() == cores
    assert not vars(threads._this)


def test_a_child_of_a_task_is_not_held(cores):
    def child_sees():
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # nothing of the tests may run here: leave by _exit
            held = here() != cores or bool(vars(threads._this)) or n_threads() < 2
            os.write(write, b"held" if held else b"free")
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read) as pipe:
            return pipe.read()

    caller, seen = threading.get_ident(), []
    together(lambda _: seen.append(child_sees()) if threading.get_ident() == caller else None)
    assert seen == ["free"]


def test_a_loop_within_a_loop_moves_nobody(cores, sent):
    def look():
        before, sends = here(), len(sent)
        inner = []
        parallel_for(lambda _: inner.append(here()), 1)
        if hasattr(threads._this, "cores"):
            with threads._pinned_to_core() as others:
                inner.append(here())
                assert others is None
        assert here() == before
        assert len(sent) == sends
        return before, set(inner)

    seen_by(here)  # everybody is in place
    (mine, inside), (theirs, inside_theirs) = seen_by(look)
    assert inside == {mine}
    assert inside_theirs == {theirs}
    assert mine | theirs == cores


def test_loops_on_helpers_move_nobody_and_wait_for_nobody(cores, monkeypatch):
    """More threads are asked for than the pool has, three deep."""
    monkeypatch.setattr(threads, "n_threads", lambda: 5)
    done, wrong = [], []

    def task(*path):
        before = here()
        if len(path) < 3:
            parallel_for(lambda i: task(*path, i), 4)
        else:
            done.append(path)
        if here() != before:
            wrong.append((path, before, here()))

    def work():
        for _ in range(10):
            task()
        return here()

    assert elsewhere(work) == cores
    assert len(done) == 10 * 4**3
    assert len(set(done)) == 4**3
    assert wrong == []


def test_the_caller_counts_the_cores_that_it_could_use(cores):
    (inside, mask), _ = seen_by(lambda: (n_threads(), len(here())))
    assert mask == 1
    assert inside == n_threads() == min(len(cores), inside)


def test_callers_on_two_threads_go_where_they_could_before(cores):
    start = threading.Barrier(3, timeout=60)
    totals = [0, 0, 0]

    def work(t):
        start.wait()
        for _ in range(300):
            done = []
            parallel_for(done.append, 6)
            assert sorted(done) == list(range(6))
            assert here() == cores
            totals[t] += len(done)
        return here()

    callers = [threading.Thread(target=work, args=(t,), daemon=True) for t in (1, 2)]
    for caller in callers:
        caller.start()
    work(0)
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert totals == [1800] * 3


def test_two_callers_at_once_are_held_and_let_go_each(cores):
    """Both loops last at the same time: the helpers obey whoever came last."""
    callers = threading.Barrier(2, timeout=30)

    def work():
        caller, masks = threading.get_ident(), []

        def task(_):
            if threading.get_ident() == caller:
                callers.wait()
                masks.append(here())
                callers.wait()

        together(task)
        return masks, here()

    results = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    results.append(work())
    thread.join(60)
    assert len(results) == 2
    for (mask,), after in results:
        assert len(mask) == 1
        assert after == cores


@pytest.mark.parametrize("choose", [min, max])
def test_with_one_core_nothing_is_touched(cores, choose, sent, monkeypatch):
    monkeypatch.setattr(threads, "_pool", lambda: pytest.fail("helpers"))
    only, seen = {choose(cores)}, []

    def work():
        os.sched_setaffinity(0, only)
        parallel_for(lambda i: seen.append((i, here())), 5)
        with threads._pinned_to_core() as others:
            assert others is None
        return n_threads(), here()

    assert elsewhere(work) == (1, only)
    assert seen == [(i, only) for i in range(5)]
    assert sent == []


def test_loops_without_helpers_touch_nothing(cores, sent, monkeypatch):
    seen = []
    parallel_for(lambda _: seen.append(here()), 1)
    parallel_for(lambda _: seen.append(here()), [])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    parallel_for(lambda _: seen.append(here()), 3)
    assert seen == [cores] * 4
    assert sent == []


def test_where_nobody_knows_their_core_nobody_is_sent(cores, fresh, sent, monkeypatch):
    monkeypatch.setattr(threads, "_current_core", None)
    assert seen_by(here) == (cores, cores)
    assert sent == []


def test_cores_that_are_gone_are_no_error(cores, monkeypatch):
    threads._send(0, frozenset({10**4}))
    threads._send(2**30, cores)  # nor are threads
    assert here() == cores
    done = []
    monkeypatch.setattr(threads, "_current_core", lambda: 10**4)
    parallel_for(done.append, 20)
    assert sorted(done) == list(range(20))
    assert here() == cores


def test_systems_without_affinities(fresh, monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert threads._find_current_core() is None
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(threads, "_current_core", None)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert threads._cores() == {0, 1, 2}
    done = []
    parallel_for(done.append, 20)
    assert sorted(done) == list(range(20))
