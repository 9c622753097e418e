"""Scores of two clusterings, from their labels."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn import metrics
from sklearn.metrics.cluster import contingency_matrix

from .fixture import Batch, Case, Fixture
from .sampling import ROWS, join, seeded, split

FAMILY = "clusters"
SOURCE = "scikit-learn 1.9.1"
Value = Callable[[np.ndarray, np.ndarray], float]

# What scikit-learn's formulas give with another rounding than exactly this.
EXACT = {
    ("lone_against_others", "AdjustedMutualInfoScore"): 0.0,
    ("lone_in_both", "AdjustedMutualInfoScore"): 1.0,
}


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    mutual = metrics.mutual_info_score
    result = [
        _plain("MutualInfoScore", mutual),
        _plain("RandScore", metrics.rand_score),
        _plain("AdjustedRandScore", metrics.adjusted_rand_score),
        _plain("FowlkesMallowsIndex", metrics.fowlkes_mallows_score),
        _plain("HomogeneityScore", metrics.homogeneity_score),
        _plain("CompletenessScore", metrics.completeness_score),
        _plain("ClusterAccuracy", _accuracy,
               "scipy.optimize.linear_sum_assignment"),
        _v_measure(),
    ]
    for name, value in (
            ("NormalizedMutualInfoScore", metrics.normalized_mutual_info_score),
            ("AdjustedMutualInfoScore", metrics.adjusted_mutual_info_score)):
        result.append(_averaged(name, value))
    return result


def _labels(name: str, clusters: int, classes: int) -> Batch:
    """Clusters that follow classes, with many exceptions."""
    rng = seeded(FAMILY, name)
    target = rng.integers(0, classes, ROWS)
    follows = rng.random(ROWS) < 0.6
    preds = np.where(follows, (2 * target + 1) % clusters,
                     rng.integers(0, clusters, ROWS))
    return preds, target


def _inputs() -> dict[str, list[Batch]]:
    """Batches by name; the order of preds and target is that of update()."""
    preds, target = _labels("plain", 5, 3)
    halves = np.arange(ROWS) % 2
    lone = seeded(FAMILY, "lone").permutation(ROWS)
    one = np.zeros(ROWS, "int64")
    far = np.array([-(2 ** 63), 10 ** 12, -5, 2 ** 63 - 1, 0])
    columns = _labels("multidim", 4, 4)
    narrow = _labels("uint8", 6, 3)
    inputs = {
        "plain": (preds, target),
        "renamed": ((7 * target + 3) % 11, target),
        "refined": (2 * target + halves, target),
        "coarser": (target // 2, target),
        "independent": (halves, np.arange(ROWS) // 2 % 2),
        "many": _labels("many", 12, 3),
        "few": _labels("few", 2, 9),
        "one_in_both": (one, one + 4),
        "one_cluster": (one, target),
        "one_class": (preds, one),
        "lone_against_others": (lone, target),
        "lone_in_both": (lone, (5 * lone + 1) % ROWS),
        "any_numbers": (far[preds], far[target + 1]),
        "int32": tuple(x.astype("int32") for x in _labels("int32", 4, 4)),
        "uint8": (narrow[0].astype("uint8"), narrow[1].astype("uint8")),
        "bool": (halves == 1, target > 0),
    }
    batches = {name: split(*arrays) for name, arrays in inputs.items()}
    batches["multidim"] = split(*(np.stack([x, x[::-1]], 1) for x in columns))
    batches["four"] = split(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]),
                            sizes=(1, 2, 1))
    batches["two_samples"] = split(np.array([3, 8]), np.array([1, 1]),
                                   sizes=(1, 1))
    return batches


def _case(metric: str, inputs: str, value: Value, source: str,
          suffix: str = "", **options) -> Case:
    batches = _inputs()[inputs]
    preds, target = (x.reshape(-1) for x in join(batches))
    expected = EXACT.get((inputs, metric), value(target, preds))
    return Case(inputs + suffix, options, batches, float(expected), source,
                rtol=1e-9, atol=1e-12, inputs=f"{FAMILY}/{inputs}")


def _plain(metric: str, value: Value, source: str = "") -> Fixture:
    source = source or f"sklearn.metrics.{value.__name__}"
    return Fixture(metric, SOURCE, [
        _case(metric, inputs, value, source) for inputs in _inputs()])


def _accuracy(target: np.ndarray, preds: np.ndarray) -> float:
    table = contingency_matrix(target, preds)
    return table[linear_sum_assignment(table, maximize=True)].sum() / len(preds)


def _averaged(metric: str, value: Callable[..., float]) -> Fixture:
    source = f"sklearn.metrics.{value.__name__}"
    cases = _plain(metric, value).cases
    for inputs in ("plain", "many", "refined", "one_cluster",
                   "lone_against_others"):
        for method in ("min", "geometric", "max"):
            cases.append(_case(
                metric, inputs,
                lambda target, preds, method=method: value(
                    target, preds, average_method=method),
                source, f"_{method}", average_method=method))
    return Fixture(metric, SOURCE, cases)


def _v_measure() -> Fixture:
    metric = "VMeasureScore"
    source = "sklearn.metrics.v_measure_score"
    cases = _plain(metric, metrics.v_measure_score).cases
    for beta in (0.2, 3.0):
        cases.append(_case(
            metric, "plain",
            lambda target, preds, beta=beta: metrics.v_measure_score(
                target, preds, beta=beta), source, f"_beta_{beta}", beta=beta))
    return Fixture(metric, SOURCE, cases)
