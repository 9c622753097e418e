"""What clustering_benchmark.cc has peers for; see peer_metrics.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.stats.contingency import association, crosstab
from sklearn import metrics
from torchmetrics import clustering, nominal

Work = Callable[[], Any]
Peers = dict[str, Work]
Cases = dict[str, Callable[[], Peers]]
Inputs = tuple[torch.Tensor, torch.Tensor]


def labels(count: int, classes: int) -> Inputs:
    """Half of the samples as they are, the others anywhere."""
    target = torch.randint(classes, (count,))
    other = torch.randint(classes, (count,))
    return torch.where(torch.arange(count) % 2 == 0, target, other), target


def points(count: int, dims: int, clusters: int) -> Inputs:
    """Around centers, and their clusters."""
    own = torch.randint(clusters, (count,))
    centers = torch.randn(clusters, dims)
    return centers[own] + torch.randn(count, dims), own


def _evaluation(make: Callable[[], Any], inputs: Inputs) -> Work:
    def work() -> torch.Tensor:
        metric = make()
        metric.update(*inputs)
        return metric.compute()

    return work


def _scores() -> Cases:
    def case(value: Callable[..., float], count: int,
             classes: int) -> Callable[[], Peers]:
        def peers() -> Peers:
            preds, target = (x.numpy() for x in labels(count, classes))
            return {"scikit-learn": lambda: value(target, preds)}

        return peers

    many = 1_000_000, 1000
    return {
        "AdjustedMutualInfoScore/1e5":
            case(metrics.adjusted_mutual_info_score, 100_000, 300),
        "AdjustedMutualInfoScore/1e6":
            case(metrics.adjusted_mutual_info_score, *many),
        "MutualInfoScore/1e6": case(metrics.mutual_info_score, *many),
        "NormalizedMutualInfoScore/1e6":
            case(metrics.normalized_mutual_info_score, *many),
        "AdjustedRandScore/1e6": case(metrics.adjusted_rand_score, *many),
        "FowlkesMallowsIndex/1e6": case(metrics.fowlkes_mallows_score, *many),
        "VMeasureScore/1e6": case(metrics.v_measure_score, *many),
    }


def _of_points() -> Cases:
    def case(name: str, value: Callable[..., float] | None, count: int,
             clusters: int) -> Callable[[], Peers]:
        def peers() -> Peers:
            inputs = points(count, 32, clusters)
            result: Peers = {}
            if value:
                data, own = (x.numpy() for x in inputs)
                result["scikit-learn"] = lambda: value(data, own)
            if hasattr(clustering, name):
                result["TorchMetrics"] = _evaluation(
                    getattr(clustering, name), inputs)
            return result

        return peers

    return {
        "CalinskiHarabaszScore/1e5": case(
            "CalinskiHarabaszScore", metrics.calinski_harabasz_score,
            100_000, 50),
        "DaviesBouldinScore/1e5": case(
            "DaviesBouldinScore", metrics.davies_bouldin_score, 100_000, 50),
        "DunnIndex/1e5": case("DunnIndex", None, 100_000, 50),
        "SilhouetteScore/8000": case(
            "SilhouetteScore", metrics.silhouette_score, 8000, 10),
    }


def _of_categories() -> Cases:
    def case(name: str, value: Callable[..., Any]) -> Callable[[], Peers]:
        def peers() -> Peers:
            inputs = labels(1_000_000, 10)
            preds, target = (x.numpy() for x in inputs)
            make = getattr(nominal, name)
            return {
                "SciPy" if name == "CramersV" else "scikit-learn":
                    lambda: value(preds, target),
                "TorchMetrics": _evaluation(
                    lambda: make(num_classes=10), inputs),
            }

        return peers

    def cramer(preds: np.ndarray, target: np.ndarray) -> float:
        return association(crosstab(preds, target).count, method="cramer")

    return {
        "CramersV/1e6": case("CramersV", cramer),
        "TheilsU/1e6": case(
            "TheilsU", lambda preds, target: metrics.completeness_score(
                target, preds)),
    }


def _batches() -> Cases:
    def case(make: Callable[[], Any],
             inputs: Callable[[], Inputs]) -> Callable[[], Peers]:
        def peers() -> Peers:
            metric, batch = make(), inputs()
            return {"TorchMetrics": lambda: metric.update(*batch)}

        return peers

    return {
        "AdjustedRandScore/update": case(
            clustering.AdjustedRandScore, lambda: labels(32, 10)),
        "CramersV/update": case(
            lambda: nominal.CramersV(num_classes=10), lambda: labels(32, 10)),
        "CalinskiHarabaszScore/update": case(
            clustering.CalinskiHarabaszScore, lambda: points(32, 32, 10)),
    }


def cases() -> Cases:
    """All of them, by the names of Tally's benchmarks."""
    return {**_batches(), **_scores(), **_of_points(), **_of_categories()}
