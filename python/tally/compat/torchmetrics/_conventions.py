"""Whose conventions decide values that are undefined."""

import os

_NAMES = ("torchmetrics", "tally")


def _checked(which):
    if which not in _NAMES:
        raise ValueError(f"conventions: expected {' or '.join(_NAMES)}, got {which!r}")
    return which


_which = _checked(os.environ.get("TALLY_CONVENTIONS", _NAMES[0]))


def conventions(which=None):
    """Whose conventions decide undefined values: "torchmetrics", as it begins, or "tally".

    With "tally" metrics that are constructed from now on, and functions, have Tally's values
    where a class has no samples, a query no relevant documents or a coefficient no variance:
    mostly NaN, and means without it. Names, forms and dtypes of results are TorchMetrics'
    still. The environment variable TALLY_CONVENTIONS does the same from the start. Returns
    which are in force.
    """
    global _which
    if which is not None:
        _which = _checked(which)
    return _which


def are_tallys():
    """Whether they are not TorchMetrics'."""
    return _which == "tally"
