"""Metrics for PyTorch with exact, autograd-aware synchronization across ranks.

    accuracy = tally.MulticlassAccuracy(num_classes=10)
    for batch in loader:
        accuracy.update(model(batch.x), batch.y)
    print(accuracy.compute())      # over all ranks of torch.distributed

``tally.losses`` has losses over the rows of all ranks, ``tally.compat.torchmetrics``
what takes TorchMetrics' place.
"""

from tally._build import VERSION as __version__
# Before what imports torch: whether it is the one that the library fits.
from tally._library import METRICS as _METRICS
from tally._classes import CLASSES as _CLASSES
from tally._collection import MetricCollection
from tally._comparison import Comparison, ModelComparison
from tally._errors import SyncError, SyncErrorCode
from tally._features import FeatureExtractor, flatten_layers
from tally._intervals import Interval, IntervalMetric
from tally._logger import MetricLogger
from tally._metric import (
    CompositionalMetric,
    Metric,
    maximum,
    minimum,
    sqrt,
)
from tally._portable import from_bytes, merge
from tally._progress import Progress, progress
from tally._ranks import average_gradients, broadcast_parameters, gather_all_tensors
from tally._sets import NamedSets
from tally._slice_comparison import ComparedSlice, SliceComparison
from tally._slices import Slice, SlicedMetric
from tally._statistics import *
from tally._statistics import __all__ as _STATISTICS
from tally._tracker import Best, MetricTracker
from tally import functional, losses, plots

globals().update(_CLASSES)

__all__ = [
    "Best",
    "ComparedSlice",
    "Comparison",
    "CompositionalMetric",
    "FeatureExtractor",
    "Interval",
    "IntervalMetric",
    "Metric",
    "MetricCollection",
    "MetricLogger",
    "MetricTracker",
    "ModelComparison",
    "NamedSets",
    "Progress",
    "Slice",
    "SliceComparison",
    "SlicedMetric",
    "SyncError",
    "SyncErrorCode",
    "average_gradients",
    "broadcast_parameters",
    "flatten_layers",
    "from_bytes",
    "functional",
    "gather_all_tensors",
    "losses",
    "maximum",
    "merge",
    "minimum",
    "plots",
    "progress",
    "sqrt",
    *_METRICS,
    *_STATISTICS,
]
