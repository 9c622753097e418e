"""How far calls that take long have come."""

import ctypes
import os
import sys
import time

import torch.distributed as dist

from tally._kinds import checked
from tally._library import classes
from tally._words import call

_progress = classes.Progress
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)


class progress:
    """While it is entered, calls of this thread that compute values say how far they are.

        with tally.progress(lambda unit, done, all: print(f"{done} of {all} {unit}")):
            metrics.compute()

    ``function(unit, done, all)`` is called from this thread, at most once every
    ``pause`` seconds, by ``compute()`` of collections, slices and intervals: ``unit`` is
    "metrics", "slices", "replicates", "units" or "rows". What it raises ends the call and
    leaves the ``with``; nothing that has been accumulated is lost.
    """

    @checked
    def __init__(self, function, *, pause=0.25):
        if not callable(function):
            what = "progress: option 'function'"
            raise TypeError(f"{what}: expected a function, got {function!r:.80}")
        if not 0 <= pause <= 86400:
            raise ValueError(f"expected a pause from 0 to 86400 seconds, got {pause}")
        self._function, self._pause = function, pause
        self._error = None
        self._callback = _Callback(self._call)

    def _call(self, unit, done, all):
        try:
            self._function(unit.decode(), done, all)
        except BaseException as error:
            self._error = error
            return 1
        return 0

    def __enter__(self):
        self._error = None
        _progress.push(ctypes.cast(self._callback, ctypes.c_void_p).value, self._pause)
        return self

    def __exit__(self, *raised):
        _progress.pop()
        error, self._error = self._error, None
        if error is not None:
            raise error


def _style_of(file):
    """How a file shows progress: a terminal, a notebook, or a log."""
    if file.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return "terminal"
    kernel = type(file).__module__.split(".")[0] == "ipykernel"
    return "notebook" if kernel else "log"


class Progress:
    """Shows how far something long has come, how long it will take, and values.

        with tally.Progress("batches") as line:
            for epoch in range(9):
                line.start_outer("epoch", epoch + 1, 9)
                for i, batch in enumerate(loader):
                    line.add_mean("loss", train(batch))
                    line.update(i + 1, len(loader))

        epoch 2 of 9: 12 of 40 batches (30%), 4.1 batches/s, 7 s left (70 s in all), loss 0.3127

    A line is overwritten from the first second on, and erased at the end; in a log there is
    a line every 30 seconds. Of several ranks the first writes.

    Args:
        unit: Of what is counted.
        file: Where to write; by default the standard error.
        style: "terminal", "notebook" or "log"; by default what suits the file.
        clock: Seconds from any time on.
    """

    @checked
    def __init__(self, unit="rows", *, file=None, style: str | None = None, clock=time.monotonic):
        self._file = sys.stderr if file is None else file
        self._clock = clock
        style = _style_of(self._file) if style is None else style
        self._held = call(classes.ProgressLine, style, unit, float(clock()))
        self._shows = not dist.is_available() or not dist.is_initialized() or dist.get_rank() == 0

    def _call(self, method, *arguments):
        if not self._shows:
            return
        text = method(float(self._clock()), *arguments)
        if text:
            self._file.write(text)
            self._file.flush()

    def start(self, unit):
        """From here on `unit` are counted, and means begin anew."""
        self._call(self._held.start, unit)

    def start_outer(self, unit, number, all):
        """From here on the `number`-th of `all` is done, such as "epoch" 1 of 9.

        Its own parts are counted from 0, and its means begin anew.
        """
        self._call(self._held.start_outer, unit, number, all)

    def add_mean(self, name, value):
        """Shows the mean of the values with this name, which are added one by one."""
        self._call(self._held.add_mean, name, float(value))

    def set(self, name, value):
        """Shows this value, such as a learning rate."""
        self._call(self._held.set, name, float(value))

    def show_memory(self, shows=True):
        """Shows the memory that this process has in use."""
        self._call(self._held.show_memory, bool(shows))

    def update(self, done, all):
        """`done` of `all` are done."""
        self._call(self._held.update, done, all)

    def end(self):
        """Erases the line."""
        self._call(self._held.end)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.end()

    def __reduce__(self):
        raise TypeError("a Progress cannot be copied or pickled: make one in each process")
