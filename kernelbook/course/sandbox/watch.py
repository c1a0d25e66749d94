"""Read what comes out of a sandbox, let the hidden inputs in, and end what goes on too long.

All clocks here are the grader's own.  The code inside says when its cells have run; at that moment
what it wrote so far is set aside, and only then are the hidden inputs handed over.  Code that says
so too early gets them earlier, and that is all: what it wrote before them is still all that anybody
shows to a student.
"""

import contextlib
import json
import os
import selectors
import time

from kernelbook.course.sandbox.clocks import TICK, Clocks
from kernelbook.course.sandbox.limits import GRACE, Limits, Outcome

__all__ = ["Watch"]

SHOWN = 20_000  # characters kept of what was printed


class Watch:
    """The two pipes of one run.

    hand_over: called once, when the hidden inputs are to be given to the code.
    stages: the names of the steps, in any order; each may last `limits.waiting` and some grace.
    """

    def __init__(self, process, results, printed, limits: Limits, hand_over, stages=()):
        self.process, self.limits, self.hand_over = process, limits, hand_over
        self.results, self.printed = results, printed
        self.texts = {results: bytearray(), printed: bytearray()}
        self.outcome, self.clocks = Outcome(), Clocks(process.pid)
        self.stages = set(stages)
        self.seen = 0  # bytes of results in whole lines
        self.looked = 0  # bytes in which an end of a line was looked for
        self.lines = 0
        self.split = None  # where the results that know the inputs begin
        self.before = b""  # what was printed until then

    def run(self) -> Outcome:
        self.begin("the notebook", self.limits.starting if self.stages else self.limits.total)
        ended = os.pidfd_open(self.process.pid)
        over = False
        with selectors.DefaultSelector() as selector:
            for descriptor in (self.results, self.printed, ended):
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            while not over and self.outcome.trouble is None:
                ready = {key.fd for key, _ in selector.select(TICK)}
                over = ended in ready
                if not over and time.monotonic() >= self.clocks.last + TICK:
                    self.clocks.look()
                    self.outcome.trouble = self.out_of_time()
                # Printed first: what was written before a line of results is read before it.
                for descriptor in (self.printed, self.results):
                    self.read(descriptor, selector, descriptor in ready)
        os.close(ended)
        if over and self.outcome.trouble is None:
            # Looked at, not yet reaped: its number stays its own until its group was ended.
            status = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT).si_status
            if status:
                self.outcome.trouble = f"the code ended the process (status {status})"
        return self.finished()

    def begin(self, stage, most):
        """From now on so much waiting is allowed."""
        self.clocks.look()
        self.stage, self.most, self.waited = stage, most, self.clocks.waited

    def out_of_time(self):
        """Which limit has been reached, if any."""
        if self.clocks.computed + self.clocks.waited > self.limits.total:
            return f"the time limit of {self.limits.total:g} s for all of it ended"
        if self.clocks.started > self.limits.started:
            return f"more than {self.limits.started} processes or threads were started"
        if self.clocks.waited - self.waited > self.most:
            return f"{self.stage} waited for more than {self.most:g} s"
        return None

    def read(self, descriptor, selector, was_ready):
        text = self.texts[descriptor]
        most, verb = (
            (self.limits.returned, "returned")
            if descriptor == self.results
            else (self.limits.printed, "printed")
        )
        while self.outcome.trouble is None and (chunk := _some(descriptor)) is not None:
            if not chunk:
                if was_ready:
                    with contextlib.suppress(KeyError):
                        selector.unregister(descriptor)
                return
            text += chunk
            if descriptor == self.results:
                self.look()
            if len(text) > most:
                self.outcome.trouble = f"more than {most >> 20} MB was {verb}"

    def look(self):
        """New whole lines: count them, and notice those that say where the code is."""
        text = self.texts[self.results]
        while (end := text.find(b"\n", max(self.seen, self.looked))) >= 0:
            line, self.seen = bytes(text[self.seen : end]), end + 1
            self.lines += 1
            if self.lines > self.limits.lines:
                self.outcome.trouble = f"more than {self.limits.lines} lines were returned"
                return
            if b'"ready"' in line and self.split is None and len(line) < 100:
                self.split = self.seen
                self.read_printed_so_far()
                self.hand_over()
            elif b'"stage"' in line and len(line) < 300:
                self.enter(line)
        self.looked = len(text)  # a line that comes byte by byte is not searched again each time

    def enter(self, line):
        """A new stage has its own time; each counts once."""
        with contextlib.suppress(ValueError, RecursionError):
            frame = json.loads(line)
            stage = frame.get("stage") if isinstance(frame, dict) else None
            if isinstance(stage, str) and stage in self.stages:
                self.stages.remove(stage)
                self.begin(stage, self.limits.waiting + GRACE)

    def read_printed_so_far(self):
        while (chunk := _some(self.printed)) and len(chunk) > 0:
            self.texts[self.printed] += chunk
            if len(self.texts[self.printed]) > self.limits.printed:
                break
        self.before = bytes(self.texts[self.printed])

    def finished(self) -> Outcome:
        results = bytes(self.texts[self.results])
        split = len(results) if self.split is None else self.split
        most = self.limits.lines
        self.outcome.before = results[:split].split(b"\n", most)[:most]
        self.outcome.after = results[split:].split(b"\n", most)[:most]
        printed = self.before if self.split is not None else self.texts[self.printed]
        self.outcome.printed = bytes(printed)[-SHOWN:].decode("utf-8", "replace")
        return self.outcome


def _some(descriptor):
    """Some bytes, b"" at the end, None when there is nothing now."""
    try:
        return os.read(descriptor, 1 << 20)
    except BlockingIOError:
        return None
