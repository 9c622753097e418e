"""Metrics of ranks that are known, or of one positive among negatives."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import (coverage_error,
                             label_ranking_average_precision_score,
                             top_k_accuracy_score)

from .fixture import Batch, Case, Fixture
from .sampling import ROWS, join, seeded, split

SOURCE = "all places among equal scores one by one; scikit-learn 1.9.1"
CANDIDATES = 6


def _ranks(name: str) -> list[Batch]:
    rng = seeded("positive_ranks", name)
    ranks = rng.integers(1, 30, ROWS)
    if name == "fractions":
        return split(ranks + rng.integers(0, 2, ROWS) / 2)
    return split(ranks.astype("float32" if name == "float32" else "int64"))


def _scores(name: str) -> list[Batch]:
    rng = seeded("positive_ranks", name)
    size = (ROWS, 1 if name == "alone" else CANDIDATES)
    if "ties" in name:
        return split((rng.integers(0, 4, size) / 4).astype("float32"))
    places = np.argsort(rng.random(size), axis=1)
    return split((places / 8).astype("float64" if "64" in name else "float32"))


def _places(row: np.ndarray, positive: int, ties: str) -> list[int]:
    """The ranks that the positive has in the orders that ties leave open."""
    found = set()
    for order in itertools.permutations(range(len(row))):
        listed = [row[i] for i in order]
        if listed == sorted(listed, reverse=True):
            found.add(order.index(positive) + 1)
    places = sorted(found)
    return {"expected": places, "pessimistic": places[-1:],
            "optimistic": places[:1]}[ties]


Value = Callable[[float], float]
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("ranks", "ranks", {}), ("float32", "float32", {}),
    ("fractions", "fractions", {}),
    *((name, name, {"input": "scores"})
      for name in ("scores", "scores64", "alone")),
    *((f"{ties}_{positive}", "ties",
       {"input": "scores", "ties": ties, "positive": positive})
      for ties in ("expected", "pessimistic", "optimistic")
      for positive in (0, 2)),
]


def _expected(variant: str, options: dict[str, Any], value: Value) -> float:
    if "input" not in options:
        (ranks,) = join(_ranks(variant))
        return float(np.mean([value(rank) for rank in ranks.tolist()]))
    (scores,) = join(_scores(variant))
    positive = options.get("positive", 0)
    ties = options.get("ties", "expected")
    return float(np.mean([
        np.mean([value(rank) for rank in _places(row, positive, ties)])
        for row in scores]))


def _fixture(metric: str, make: Callable[[int], Value],
             more: list[tuple[str, str, dict[str, Any]]]) -> Fixture:
    cases = []
    for name, variant, options in [*CASES, *more]:
        batches = (_scores if "input" in options else _ranks)(variant)
        value = make(options.get("top_k", 10))
        cases.append(Case(name, options, batches,
                          _expected(variant, options, value), SOURCE,
                          rtol=1e-12, inputs=f"positive_ranks/{variant}"))
    return Fixture(metric, SOURCE, cases)


def _check_against_sklearn() -> None:
    """Where the positive stands last among equal scores."""
    options = {"input": "scores", "ties": "pessimistic"}
    (scores,) = join(_scores("ties"))
    labels = np.zeros_like(scores)
    labels[:, 0] = 1
    np.testing.assert_allclose(coverage_error(labels, scores),
                               _expected("ties", options, float))
    np.testing.assert_allclose(
        label_ranking_average_precision_score(labels, scores),
        _expected("ties", options, lambda rank: 1 / rank))
    (scores,) = join(_scores("scores"))
    for k in (1, 2, 4):
        np.testing.assert_allclose(
            top_k_accuracy_score(np.zeros(len(scores)), scores, k=k,
                                 labels=range(CANDIDATES)),
            _expected("scores", {"input": "scores"},
                      lambda rank, k=k: float(rank <= k)))


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    _check_against_sklearn()
    depths = [(f"{name}_top_{k}", name, {"top_k": k}) for k in (1, 3)
              for name in ("ranks", "fractions")]
    depths += [(f"ties_top_{k}", "ties", {"input": "scores", "top_k": k})
               for k in (1, 2, 4)]
    return [
        _fixture("MeanRank", lambda k: float, []),
        _fixture("MeanReciprocalRank", lambda k: lambda rank: 1 / rank, []),
        _fixture("RankHitRate", lambda k: lambda rank: float(rank <= k),
                 depths),
    ]
