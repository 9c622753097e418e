"""Clustering, nominal data and retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from subjects.case import Case, Inputs, function_case, torchmetrics_case
from subjects.sizes import BATCH

CLUSTERS, DIMS, QUERIES = 10, 32, 1000


def labels(size: str) -> Inputs:
    """Half of the samples as they are, the others anywhere."""
    count = 32 if size == BATCH else 1_000_000
    target = torch.randint(CLUSTERS, (count,))
    other = torch.randint(CLUSTERS, (count,))
    return torch.where(torch.arange(count) % 2 == 0, target, other), target


def few_labels(size: str) -> Inputs:
    """Of what goes through all tables with the same margins."""
    return tuple(x[:3000] for x in labels(size))


def points(size: str) -> Inputs:
    """Around centers, and their clusters."""
    count = 32 if size == BATCH else 1_000_000 // DIMS
    own = torch.arange(count) % CLUSTERS
    return torch.randn(CLUSTERS, DIMS)[own] + torch.randn(count, DIMS), own


def few_points(size: str) -> Inputs:
    """Of what compares each with each."""
    return tuple(x[:4000] for x in points(size))


def ratings(size: str) -> Inputs:
    count = 32 if size == BATCH else 200_000
    draws = torch.randint(5, (count, 7))
    return (torch.nn.functional.one_hot(draws, 5).sum(1),)


def columns(size: str) -> Inputs:
    count = 32 if size == BATCH else 100_000
    first = torch.randint(5, (count, 1))
    other = torch.randint(5, (count, 4))
    return (torch.where(torch.rand(count, 4) < 0.5, first, other),)


def _clustering() -> Iterator[Case]:
    yield torchmetrics_case("AdjustedMutualInfoScore", few_labels)
    for name in ("AdjustedRandScore", "CompletenessScore",
                 "FowlkesMallowsIndex", "HomogeneityScore", "MutualInfoScore",
                 "NormalizedMutualInfoScore", "RandScore", "VMeasureScore"):
        yield torchmetrics_case(name, labels)
    for name in ("CalinskiHarabaszScore", "DunnIndex"):
        yield torchmetrics_case(name, points, gradients=(0,))
    # TorchMetrics changes what its graph needs.
    yield torchmetrics_case("DaviesBouldinScore", points)
    from scipy.optimize import linear_sum_assignment
    from sklearn import metrics

    def accuracy(preds: np.ndarray, target: np.ndarray) -> float:
        table = metrics.confusion_matrix(target, preds, labels=np.arange(CLUSTERS))
        rows, matched = linear_sum_assignment(table, maximize=True)
        return table[rows, matched].sum() / table.sum()

    yield function_case("ClusterAccuracy", "scikit-learn, SciPy", accuracy, labels,
                        {"num_classes": CLUSTERS})
    yield function_case("SilhouetteScore", "scikit-learn", metrics.silhouette_score, few_points)


def _nominal() -> Iterator[Case]:
    from torchmetrics.functional import nominal
    for name in ("CramersV", "PearsonsContingencyCoefficient", "TheilsU", "TschuprowsT"):
        yield torchmetrics_case(name, labels, {"num_classes": CLUSTERS})
    yield torchmetrics_case("FleissKappa", ratings)
    for name, function in (
        ("CramersVMatrix", nominal.cramers_v_matrix),
        ("PearsonsContingencyCoefficientMatrix",
         nominal.pearsons_contingency_coefficient_matrix),
        ("TheilsUMatrix", nominal.theils_u_matrix),
        ("TschuprowsTMatrix", nominal.tschuprows_t_matrix),
    ):
        yield function_case(name, "TorchMetrics", function, columns,
                            peer_inputs=lambda inputs: inputs)


def ranked(size: str) -> Inputs:
    """Scores, whether relevant, and of which query."""
    count, documents = (32, 8) if size == BATCH else (100_000, 100)
    queries = torch.arange(count) // documents
    return torch.rand(count), (torch.rand(count) < 0.2).long(), queries


def graded(size: str) -> Inputs:
    preds, _, queries = ranked(size)
    return preds, torch.randint(4, preds.shape), queries


def _retrieval() -> Iterator[Case]:
    for name in ("RetrievalAUROC", "RetrievalFallOut", "RetrievalHitRate", "RetrievalMAP",
                 "RetrievalMRR", "RetrievalNormalizedDCG", "RetrievalPrecision",
                 "RetrievalPrecisionRecallCurve", "RetrievalRPrecision", "RetrievalRecall",
                 "RetrievalRecallAtFixedPrecision"):
        options: dict[str, Any] = {}
        if "Curve" in name or "Fixed" in name:
            options = {"max_k": 8}
        yield torchmetrics_case(name, ranked, options)
    import pytrec_eval

    def dictionaries(inputs: Inputs) -> Inputs:
        runs: dict[str, dict[str, float]] = {}
        judged: dict[str, dict[str, int]] = {}
        for i, (score, grade, query) in enumerate(zip(*(x.tolist() for x in inputs))):
            runs.setdefault(str(query), {})[str(i)] = score
            judged.setdefault(str(query), {})[str(i)] = grade
        return runs, judged

    def bpref(runs: dict[str, Any], judged: dict[str, Any]) -> float:
        found = pytrec_eval.RelevanceEvaluator(judged, {"bpref"}).evaluate(runs)
        return float(np.mean([each["bpref"] for each in found.values()]))

    yield function_case("RetrievalBpref", "pytrec_eval", bpref, ranked,
                        peer_inputs=dictionaries)
    yield from _of_ranx(dictionaries)


def _of_ranx(dictionaries: Any) -> Iterator[Case]:
    import ranx

    def rbp(qrels: Any, run: Any) -> float:
        return ranx.evaluate(qrels, run, "rbp.80", make_comparable=False)

    def both(inputs: Inputs) -> Inputs:
        runs, judged = dictionaries(inputs)
        return ranx.Qrels(judged), ranx.Run(runs)

    yield function_case("RetrievalRBP", "ranx", rbp, ranked, {"persistence": 0.8},
                        peer_inputs=both, value=lambda peer, value: value["value"])


def cases() -> Iterator[Case]:
    yield from _clustering()
    yield from _nominal()
    yield from _retrieval()
