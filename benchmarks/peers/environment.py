"""The Python that the peers run in."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parents[1] / "bazel-bin/benchmarks"


def interpreter(requirements: str = "requirements.txt", name: str = "peers") -> str:
    """A Python that has them, installed when they change, in a folder of that name."""
    cache = os.environ.get("TALLY_CACHE") or pathlib.Path.home() / ".cache/tally"
    folder = pathlib.Path(cache) / name
    python = folder / "bin/python"
    wanted = (HERE / requirements).read_text()
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {requirements} into {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        command = [str(python), "-m", "pip", "install", "-q", "-r"]
        subprocess.run([*command, HERE / requirements], check=True)
        stamp.write_text(wanted)
    return str(python)
