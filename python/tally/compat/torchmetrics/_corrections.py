"""Values that are not TorchMetrics', as another tool shows."""

import dataclasses
import os
import sys

from torchmetrics.utilities.prints import rank_zero_warn


class TallyCorrectionWarning(UserWarning):
    """A value follows another tool than TorchMetrics."""


@dataclasses.dataclass(frozen=True)
class Correction:
    """Why a class has other values, the tool that has them too, and code that shows it."""

    reason: str
    tool: str
    command: str


def _example(imports, reference, module, make, inputs):
    return (
        f"import torch; {imports}; import tally.compat.torchmetrics.{module} as package; "
        f"metric = package.{make}; metric.update({inputs}); "
        f"print(float(metric.compute()), {reference})"
    )


def _sklearn(module, make, inputs, reference):
    return _example("from sklearn import metrics", "metrics." + reference, module, make, inputs)


_IGNORED = Correction(
    "a class that is ignore_index is in no average; TorchMetrics' macro average counts it as 0",
    "scikit-learn",
    _sklearn(
        "classification", "MulticlassRecall(num_classes=2, ignore_index=0)",
        "torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1])",
        "recall_score([0, 1, 1], [0, 0, 1], labels=[1], average='macro')",
    ),
)
_SCORES = Correction(
    "scores of 0 or less are scores like others, and documents of equal score count for each "
    "of their orders; TorchMetrics drops hits with such scores, and ties go by the order of rows",
    "scikit-learn",
    _sklearn(
        "retrieval", "RetrievalMAP()",
        "torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([0, 1, 1]), torch.tensor([0, 0, 0])",
        "average_precision_score([0, 1, 1], [-1.0, -2.0, -3.0])",
    ),
)
_ONE_CLUSTER = "one cluster on both sides is full agreement; TorchMetrics has 0"
_ZEROS = "torch.zeros(4).long(), torch.zeros(4).long()"

CORRECTIONS = {
    **{
        "Multiclass" + name: _IGNORED
        for name in ("Accuracy", "F1Score", "FBetaScore", "HammingDistance",
                     "NegativePredictiveValue", "Precision", "Recall", "Specificity")
    },
    **{
        "Retrieval" + name: _SCORES for name in ("MAP", "MRR", "Precision", "Recall")
    },
    **{
        name: Correction(
            "of one class alone it is 0; TorchMetrics has 1 or -1", "scikit-learn",
            _sklearn("classification", f"{name}({options})", f"{ones}, {ones}",
                     "matthews_corrcoef([1, 1, 1, 1], [1, 1, 1, 1])"),
        )
        for name, options, ones in (
            ("BinaryMatthewsCorrCoef", "", "torch.ones(4).long()"),
            ("MulticlassMatthewsCorrCoef", "num_classes=2", "torch.ones(4).long()"),
            ("MultilabelMatthewsCorrCoef", "num_labels=2", "torch.ones(2, 2).long()"),
        )
    },
    "BinaryAUROC": Correction(
        "with thresholds by number, a score of exactly 1 is above all others; TorchMetrics' "
        "curve of thresholds begins at its rates instead of 0", "scikit-learn",
        _sklearn("classification", "BinaryAUROC(thresholds=5)",
                 "torch.tensor([1.0, 1.0, 0.3, 0.2]), torch.tensor([1, 0, 1, 0])",
                 "roc_auc_score([1, 0, 1, 0], [1.0, 1.0, 0.3, 0.2])"),
    ),
    "MultilabelRankingLoss": Correction(
        "labels of equal score are ordered wrongly; TorchMetrics goes by their order",
        "scikit-learn",
        _sklearn("classification", "MultilabelRankingLoss(num_labels=3)",
                 "torch.tensor([[0.5, 0.5, 0.2], [0.3, 0.3, 0.3]]), "
                 "torch.tensor([[1, 0, 0], [0, 1, 0]])",
                 "label_ranking_loss([[1, 0, 0], [0, 1, 0]], [[0.5, 0.5, 0.2], [0.3, 0.3, 0.3]])"),
    ),
    "NormalizedMutualInfoScore": Correction(
        _ONE_CLUSTER, "scikit-learn",
        _sklearn("clustering", "NormalizedMutualInfoScore()", _ZEROS,
                 "normalized_mutual_info_score([0, 0, 0, 0], [0, 0, 0, 0])"),
    ),
    "AdjustedMutualInfoScore": Correction(
        _ONE_CLUSTER, "scikit-learn",
        _sklearn("clustering", "AdjustedMutualInfoScore()", _ZEROS,
                 "adjusted_mutual_info_score([0, 0, 0, 0], [0, 0, 0, 0])"),
    ),
    "AdjustedRandScore": Correction(
        "numbers of pairs are exact; TorchMetrics' overflow from some ten thousand samples on",
        "scikit-learn",
        _sklearn("clustering", "AdjustedRandScore()",
                 "torch.arange(100000) % 9, torch.arange(100000) // 2 % 9",
                 "adjusted_rand_score(torch.arange(100000) % 9, torch.arange(100000) // 2 % 9)"),
    ),
    "HausdorffDistance": Correction(
        "distances between pixels are Euclidean in masks of any shape; TorchMetrics' are wrong "
        "where height and width differ", "SciPy",
        _example("from scipy.spatial.distance import directed_hausdorff",
                 "directed_hausdorff([[2, 3]], [[4, 17]])[0]", "segmentation",
                 "HausdorffDistance(num_classes=2, include_background=False, input_format='index')",
                 "torch.zeros(1, 8, 20).long().index_put_("
                 "[torch.tensor([0]), torch.tensor([2]), torch.tensor([3])], torch.tensor(1)), "
                 "torch.zeros(1, 8, 20).long().index_put_("
                 "[torch.tensor([0]), torch.tensor([4]), torch.tensor([17])], torch.tensor(1))"),
    ),
}

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


def _applies(metric, name):
    if CORRECTIONS[name] is _IGNORED:
        ignored = metric.ignore_index
        inside = ignored is not None and 0 <= ignored < metric.num_classes
        return inside and metric.average == "macro"
    if name == "BinaryAUROC":  # a list of thresholds is left to TorchMetrics
        return metric.thresholds is not None and not metric._has_own_thresholds
    return True


def warn_of(metric):
    """Says once for each class that a value is corrected."""
    name = metric._real.__name__
    if not _warns or name in _warned or not _applies(metric, name):
        return
    _warned.add(name)
    each = CORRECTIONS[name]
    rank_zero_warn(
        f"{name} follows {each.tool}: {each.reason}. corrections(off=[{name!r}]) takes "
        "TorchMetrics' own class, corrections(warn=False) ends this warning",
        TallyCorrectionWarning,
        stacklevel=level_of_program() + 2,  # beyond what leaves it to rank 0
    )
