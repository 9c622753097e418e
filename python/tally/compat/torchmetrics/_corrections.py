"""Values that are not TorchMetrics', as another tool shows."""

import os
import sys

from torchmetrics.utilities.prints import rank_zero_warn

from tally.compat.torchmetrics._corrected import CORRECTIONS, EQUAL_SCORES, IGNORED


class TallyCorrectionWarning(UserWarning):
    """A value follows another tool than TorchMetrics."""


_warned = set()
_off = set()
_warns = os.environ.get("TALLY_CORRECTION_WARNINGS", "1") != "0"


def level_of_program():
    """How far above its caller the program is, for a warning."""
    ours = ("tally", "torchmetrics")
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level


def corrections(warn=None, off=None):
    """The classes whose values are corrected, by name.

    `warn` switches the warning of the first `compute()` of each on or off, as does the
    environment variable TALLY_CORRECTION_WARNINGS=0. `off` names the classes that are
    TorchMetrics' own from now on, where they are constructed; those not named are corrected.
    """
    global _warns, _off
    if off is not None:
        names = {off} if isinstance(off, str) else set(off)
        unknown = sorted(names - set(CORRECTIONS))
        if unknown:
            raise ValueError(
                f"corrections: expected names of {', '.join(sorted(CORRECTIONS))}, got "
                f"{', '.join(map(repr, unknown))}"
            )
        _off = names
    if warn is not None:
        _warns = bool(warn)
    return dict(CORRECTIONS)


def is_off(name):
    """Whether TorchMetrics' own class is asked for."""
    return name in _off


def warns():
    """Whether anything is said."""
    return _warns


def excludes_ignored(metric):
    """Whether a mean is without the class that is ignored."""
    if CORRECTIONS.get(metric._real.__name__) is not IGNORED:
        return False
    ignored = metric.ignore_index
    inside = ignored is not None and 0 <= ignored < metric.num_classes
    return inside and metric.average == "macro"


def _applies(each, metric):
    """Whether the options of a metric lead to other values."""
    name = metric._real.__name__
    if each is IGNORED:
        return excludes_ignored(metric)
    if each is EQUAL_SCORES:  # to look for them would cost more than update() does
        return 1 < metric.top_k < metric.num_classes
    if name == "MeanAveragePrecision":
        given = {"iou_thresholds", "rec_thresholds"} <= metric._tally_options.keys()
        return not given or "segm" in metric.iou_type
    if name.endswith("AUROC"):  # a list of thresholds is left to TorchMetrics
        return metric.thresholds is not None and not metric._has_own_thresholds
    return True


def of(metric):
    """The corrections that apply to a metric."""
    each = CORRECTIONS.get(metric._real.__name__)
    found = []
    while each is not None:
        if _applies(each, metric):
            found.append(each)
        each = each.also
    return found


def warn_of(metric):
    """Says once for each class that a value is corrected."""
    name = metric._real.__name__
    for each in of(metric) if _warns else ():
        if (name, each) in _warned:
            continue
        _warned.add((name, each))
        rank_zero_warn(
            f"{name} follows {each.tool}: {each.reason}. corrections(off=[{name!r}]) takes "
            "TorchMetrics' own class, corrections(warn=False) ends this warning",
            TallyCorrectionWarning,
            stacklevel=level_of_program() + 2,  # beyond what leaves it to rank 0
        )
