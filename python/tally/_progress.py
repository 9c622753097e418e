"""How far calls that take long have come."""

import ctypes

from tally._library import classes

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

    def __init__(self, function, *, pause=0.25):
        if not callable(function):
            raise TypeError(f"expected a function, got {type(function).__name__}")
        if not 0 <= pause <= 86400:
            raise ValueError(f"expected a pause from 0 to 86400 seconds, got {pause}")
        self._function, self._pause = function, float(pause)
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
