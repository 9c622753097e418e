"""Loads the library, once torch is known to be the one that it fits."""

import importlib.metadata
import importlib.util
import json
import os

from tally._build import TORCH, VERSION


def _check_torch():
    """Another torch would fail with the name of a C++ symbol."""
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        found = "unknown" if importlib.util.find_spec("torch") else "none"
    if not (found + ".").startswith(TORCH + "."):
        raise ImportError(
            f"tally {VERSION} needs torch {TORCH}, and found {found}: "
            f"pip install 'torch=={TORCH}.*'"
        )


_check_torch()

import torch  # noqa: E402

torch.ops.load_library(os.path.join(os.path.dirname(__file__), "libtally_python.so"))

classes = torch.classes.tally
functions = classes.Functions

#: Metrics and losses with their options and inputs.
DESCRIPTION = json.loads(functions.description())
METRICS = {entry["name"]: entry for entry in DESCRIPTION["metrics"]}
LOSSES = {entry["name"]: entry for entry in DESCRIPTION["losses"]}
