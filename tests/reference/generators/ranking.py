"""MultilabelCoverageError, -RankingAveragePrecision and -RankingLoss."""

from collections.abc import Callable

import numpy as np
from sklearn import metrics

from .fixture import Case, Fixture
from .sampling import ROWS, join, rows_of, seeded, split, targets

LABELS = 4
Value = Callable[..., float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    source = "scikit-learn 1.9.1"
    return [Fixture(name, source, _cases(name, value)) for name, value in (
        ("MultilabelCoverageError", metrics.coverage_error),
        ("MultilabelRankingAveragePrecision",
         metrics.label_ranking_average_precision_score),
        ("MultilabelRankingLoss", metrics.label_ranking_loss))]


def _expected(value: Value, scores: np.ndarray, target: np.ndarray,
              weight: np.ndarray | None, ignore_index: int | None) -> float:
    """The mean over samples; one by one where they have other labels."""
    if ignore_index is None:
        return value(target, scores, sample_weight=weight)
    values = []
    for row, labels in zip(scores, target, strict=True):
        keep = labels != ignore_index
        values.append(value(labels[None, keep], row[None, keep]))
    return float(np.mean(values))


def _cases(metric: str, value: Value) -> list[Case]:
    def case(name: str, decimals: int = 3, shape: tuple[int, ...] = (),
             weighted: bool = False, fill: int | None = None,
             ignore_index: int | None = None, dtype: str = "float32") -> Case:
        rng = seeded(metric, name)
        target = targets(rng, (ROWS, LABELS, *shape), [0, 1, 1])
        preds = np.round(rng.standard_normal(target.shape) + target, decimals)
        if fill is not None:
            target[::3] = fill
        if ignore_index is not None:
            target.reshape(-1)[1::6] = ignore_index
        arrays = [preds.astype(dtype), target]
        if weighted:
            arrays.append(np.round(rng.random((ROWS, *shape)), 2))
        batches = split(*arrays)
        joined = join(batches)
        weight = joined[2].reshape(-1) if weighted else None
        options = {"num_labels": LABELS}
        if ignore_index is not None:
            options["ignore_index"] = ignore_index
        expected = _expected(value, rows_of(joined[0]), rows_of(joined[1]),
                             weight, ignore_index)
        return Case(name, options, batches, expected,
                    f"sklearn.metrics.{value.__name__}", rtol=1e-12)

    return [case("plain"), case("float64", dtype="float64"),
            case("ties", decimals=0), case("weighted", weighted=True),
            case("all_positive", fill=1), case("none_positive", fill=0),
            case("ignore_index", ignore_index=-1),
            case("multidim", shape=(2,)),
            case("multidim_weighted", shape=(2,), weighted=True)]
