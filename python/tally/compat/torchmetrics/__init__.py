"""TorchMetrics with the metrics that Tally has computed by Tally.

``import tally.compat.torchmetrics as torchmetrics``: modules, names, constructors and
results are those of the TorchMetrics that is installed, and so is whatever Tally does
not have. The classes are subclasses of TorchMetrics' own, which Lightning's ``self.log``
and other wrappers take. docs/python.md lists what differs.
"""

try:
    import torchmetrics as _real
except ImportError as _error:
    raise ImportError(
        "tally.compat.torchmetrics needs TorchMetrics: "
        "pip install 'tally-metrics[torchmetrics]'"
    ) from _error

from tally.compat.torchmetrics import _mirror
from tally.compat.torchmetrics._conventions import conventions  # noqa: F401
from tally.compat.torchmetrics._corrected import Correction  # noqa: F401
from tally.compat.torchmetrics._corrections import (  # noqa: F401
    TallyCorrectionWarning,
    corrections,
)
from tally.compat.torchmetrics._install import install, uninstall  # noqa: F401

__version__ = _real.__version__

_mirror.fill(__name__, _real, globals())
