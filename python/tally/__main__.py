"""The program ``tally``, as docs/cli.md has it: ``python -m tally evaluate ...``.

Where it takes tables as CSV (``--csv``, ``--set``), it also takes them as Parquet and Arrow, which
pyarrow reads: they are written as text into a temporary folder.
"""

import ctypes
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from tally._tables import TableError, table_kind, write_csv

_BAD_INPUT = 2
# The options that say how a text is read.
_OF_TEXTS = ("--delimiter", "--decimal", "--encoding")


def _option(word):
    """The long name of the option that a word is, if it is one, and the value behind a =."""
    name, equals, value = word.partition("=")
    name = {"-o": "--output"}.get(name, name)
    is_option = len(name) > 1 and name.startswith("-")
    return (name if is_option else ""), (value if equals and is_option else None)


def _files_of(word):
    """The files of a folder or pattern, in the program's order."""
    path = pathlib.Path(word)
    if path.is_dir():
        return sorted(
            str(each) for each in path.iterdir() if each.name[0] not in "._" and each.is_file()
        )
    if path.exists() or not set("*?[") & set(word):
        return [word]
    # As a shell would: no ** and no hidden files.
    return sorted(map(str, path.parent.glob(path.name)))


class _Words:
    """The words of a command, with its tables as text."""

    def __init__(self, words, folder):
        self._folder = folder
        self._written = {}  # by file
        self._tables, self._outputs, self._given = [], [], set()
        self.words = list(self._replaced(words))
        if self._tables:
            self._check()

    def _replaced(self, words):
        name, names_set = "", False
        for word in words:
            option, value = _option(word)
            if option:
                name = option
                names_set = name == "--set"
                self._given.add(name)
            if value is None and option:
                yield word
                continue
            value = word if value is None else value
            if name in ("--output", "--replicates", "--save"):
                self._outputs.append(value)
            set_name = ""
            if names_set:
                set_name, equals, value = value.partition("=")
                set_name += equals
                names_set = False
            # A set tells its tables by their names.
            suffix = {"--csv": "", "--set": ".csv"}.get(name)
            files = self._as_text(value, suffix) if value and suffix is not None else None
            if files is None:
                yield word
                continue
            if option:
                yield name
            yield set_name + files[0]
            yield from files[1:]

    def _as_text(self, word, suffix):
        """The files that take a word's place, or None where it has no tables."""
        files = _files_of(word)
        kinds = [table_kind(file) for file in files]
        if not any(kinds):
            return None
        return [self._text_of(*each, suffix) if each[1] else each[0]
                for each in zip(files, kinds)]

    def _text_of(self, file, kind, suffix):
        status = os.stat(file)
        key = status.st_dev, status.st_ino
        if key not in self._written:
            # The file's name is part of what the program says of it.
            folder = os.path.join(self._folder, str(len(self._written)))
            os.mkdir(folder)
            self._written[key] = os.path.join(folder, os.path.basename(file) + suffix)
            self._tables.append((file, kind))
        return self._written[key]

    def _check(self):
        first = self._tables[0][0]
        for name in _OF_TEXTS:
            if name in self._given:
                raise TableError(f"{name}: expected text, got {first}, which is a table of "
                                 f"{self._tables[0][1]}")
        for output in self._outputs:
            for file, _ in self._tables:
                if os.path.exists(output) and os.path.samefile(output, file):
                    raise TableError(
                        f"{output}: expected another file to write to, got an input"
                    )

    @property
    def has_tables(self):
        return bool(self._tables)

    def write(self):
        for (file, kind), out in zip(self._tables, self._written.values()):
            for remark in write_csv(file, kind, out):
                if "--quiet" not in self._given:
                    _say(remark)


def _say(text):
    print(f"tally: {text}", file=sys.stderr, flush=True)


def _environment():
    """Torch's libraries, wherever it is, for the program and the ranks that it starts."""
    torch = importlib.util.find_spec("torch").submodule_search_locations[0]
    paths = [os.path.join(torch, "lib"), os.environ.get("LD_LIBRARY_PATH")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}


class _Ended(Exception):
    """By a signal."""


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _on_signals(call):
    """`call(number)` takes those that end the program, unless they are ignored."""
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: call(number))


def _end(number):
    raise _Ended(number)


def _begin():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: ends with this process
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _run(program, words):
    """The program's status; it gets the signals that would end this process."""
    # They wait until it is there to get them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    process = subprocess.Popen([program, *words], env=_environment(), preexec_fn=_begin)
    # What the terminal sends, it sends to both.
    _on_signals(lambda number: number == signal.SIGINT or process.send_signal(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    status = process.wait()
    return status if status >= 0 else 128 - status


def _on_tables(program, words):
    """The status of the program where there are tables, else None."""
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        _on_signals(_end)
        try:
            given = _Words(words, folder)
            given.write()
            return _run(program, given.words) if given.has_tables else None
        except TableError as error:
            _say(error)
            return _BAD_INPUT
        except _Ended as error:
            (number,) = error.args
            _say(f"ended by signal {number:d} ({signal.strsignal(number)})")
            return 128 + number


def main(words):
    """Becomes the program with these words, or returns its exit status."""
    program = os.path.join(os.path.dirname(__file__), "tally")
    status = None
    if words and words[0] in ("evaluate", "report"):
        status = _on_tables(program, words)
    if status is None:
        os.execve(program, [program, *words], _environment())
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
