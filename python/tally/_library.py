"""Loads the library, once torch is known to be the one that it fits."""

import importlib.metadata
import importlib.util
import json
import os

from tally._build import TORCH, VERSION

_BUILT = f"tally {VERSION} was built for torch {TORCH}"
_WAYS_OUT = (
    f"pip install 'torch=={TORCH}.*', or build the wheel for the other: "
    "LIBTORCH=<its torch folder> tools/wheel"
)


def _fits(version):
    return (version + ".").startswith(TORCH + ".")


def _check_torch():
    """Another torch would fail with the name of a C++ symbol."""
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        found = "unknown" if importlib.util.find_spec("torch") else "none"
    if not _fits(found):
        raise ImportError(f"{_BUILT}, and found {found}: {_WAYS_OUT}")


def _import_torch():
    """What is installed need not be what is imported."""
    try:
        import torch
    except Exception as error:
        raise ImportError(
            f"{_BUILT}, which is installed and cannot be imported: {error}; once "
            "python -c 'import torch' works, so does tally"
        ) from error
    version = str(getattr(torch, "__version__", "unknown"))
    if not _fits(version):
        installed = importlib.metadata.version("torch")
        raise ImportError(
            f"{_BUILT}, and there are two: torch {installed} is installed, and "
            f"{torch.__file__}, which comes first on sys.path, is {version}: take "
            "one of them off the path"
        )
    return torch


_check_torch()
torch = _import_torch()

torch.ops.load_library(os.path.join(os.path.dirname(__file__), "libtally_python.so"))

classes = torch.classes.tally
functions = classes.Functions

#: Metrics and losses with their options and inputs.
DESCRIPTION = json.loads(functions.description())
METRICS = {entry["name"]: entry for entry in DESCRIPTION["metrics"]}
LOSSES = {entry["name"]: entry for entry in DESCRIPTION["losses"]}
