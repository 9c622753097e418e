"""Functions in the places of TorchMetrics'."""

import functools

import torchmetrics.functional

from tally import functional

_NAMES = (
    "pairwise_cosine_similarity",
    "pairwise_euclidean_distance",
    "pairwise_linear_similarity",
    "pairwise_manhattan_distance",
    "pairwise_minkowski_distance",
)


def _in_place_of(real):
    mine = getattr(functional, real.__name__)

    @functools.wraps(real)
    def function(*args, **kwargs):
        try:
            return mine(*args, **kwargs)
        except (ValueError, TypeError, RuntimeError):
            real(*args, **kwargs)  # in TorchMetrics' words, if it refuses them too
            raise

    function.__module__ = real.__module__.replace("torchmetrics", "tally.compat.torchmetrics", 1)
    return function


FUNCTIONS = {
    real: _in_place_of(real)
    for real in (getattr(torchmetrics.functional, name) for name in _NAMES)
}
