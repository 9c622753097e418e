"""Scores of clusters of points."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import metrics

from .fixture import Batch, Case, Fixture
from .sampling import ROWS, join, seeded, split

FAMILY = "points"
NUMPY = "NumPy: by definition"
Value = Callable[[np.ndarray, np.ndarray], float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_calinski_harabasz(), _davies_bouldin(), _dunn(), _silhouette()]


def _points(name: str, clusters: int, dims: int = 3, rows: int = ROWS,
            spread: float = 0.7) -> Batch:
    """Points around centers, in clusters that all occur."""
    rng = seeded(FAMILY, name)
    labels = rng.permutation(np.arange(rows) % clusters)
    centers = 2 * rng.standard_normal((clusters, dims))
    data = centers[labels] + spread * rng.standard_normal((rows, dims))
    return np.round(data, 3), labels


def _inputs() -> dict[str, list[Batch]]:
    def narrow(batch: Batch) -> Batch:
        return batch[0].astype("float32"), batch[1]

    data, labels = _points("plain", 4)
    lone = labels.copy()
    lone[5] = 9
    far = np.array([-(2 ** 63), 10 ** 12, -5, 2 ** 63 - 1])
    constant, own = _points("constant", 3)
    constant = constant[[np.flatnonzero(own == k)[0] for k in own]]
    integers, same = _points("int64", 3)
    inputs = {
        "plain": narrow((data, labels)),
        "float64": (data, labels),
        "int64": (np.round(5 * integers).astype("int64"), same),
        "one_column": narrow(_points("one_column", 3, 1)),
        "any_numbers": narrow((data, far[labels])),
        "lone_point": narrow((data, lone)),
        "offset_1e6": (data + 1e6, labels),
        "int32_labels": (data, labels.astype("int32")),
        "constant": (constant + 0.1, own),
        "one_cluster": narrow((data, 0 * labels)),
        "all_alone": narrow((data, np.arange(ROWS))),
        "nearly_all_alone": (data, np.maximum(np.arange(ROWS), 1)),
    }
    batches = {name: split(*batch) for name, batch in inputs.items()}
    sizes = (30, 1, 0, 40, 19)
    batches["many_clusters"] = split(
        *_points("many_clusters", 30, 2, sum(sizes)), sizes=sizes)
    return batches


def _case(name: str, inputs: str, value: Value, source: str,
          **options) -> Case:
    batches = _inputs()[inputs]
    data, labels = join(batches)
    expected = value(data.astype("float64"), labels)
    return Case(name, options, batches, float(expected), source, rtol=1e-9,
                inputs=f"{FAMILY}/{inputs}")


def _defined(value: Value) -> Value:
    """NaN unless there are from 2 to N - 1 clusters."""
    def score(data: np.ndarray, labels: np.ndarray) -> float:
        count = len(np.unique(labels))
        return value(data, labels) if 2 <= count < len(labels) else np.nan

    return score


def _calinski_harabasz() -> Fixture:
    def value(data: np.ndarray, labels: np.ndarray) -> float:
        # A shift changes nothing but the rounding.
        return metrics.calinski_harabasz_score(data - data[0], labels)

    def case(inputs: str) -> Case:
        if inputs == "constant":
            return _case(inputs, inputs, lambda *_: 1.0,
                         "scikit-learn's rule for no scatter")
        return _case(inputs, inputs, _defined(value),
                     "sklearn.metrics.calinski_harabasz_score")

    return Fixture("CalinskiHarabaszScore", "scikit-learn 1.9.1",
                   [case(inputs) for inputs in _inputs()])


def _likeness(centroids: np.ndarray, widths: np.ndarray) -> float:
    distances = cdist(centroids, centroids)
    pairs = range(len(widths))
    return np.mean([max((widths[i] + widths[j]) / distances[i, j]
                        for j in pairs if j != i) for i in pairs])


def _davies_bouldin() -> Fixture:
    def value(data: np.ndarray, labels: np.ndarray) -> float:
        return metrics.davies_bouldin_score(data - data[0], labels)

    def by_exponent(q: int, known: np.ndarray | None) -> Value:
        def score(data: np.ndarray, labels: np.ndarray) -> float:
            centroids, widths = [], []
            for label in np.unique(labels):
                points = data[labels == label]
                centroid = points.mean(0) if known is None else known[label]
                lengths = np.linalg.norm(points - centroid, axis=1)
                centroids.append(centroid)
                widths.append(np.mean(lengths ** q) ** (1 / q))
            return _likeness(np.array(centroids), np.array(widths))

        return _defined(score)

    cases = [_case(inputs, inputs, _defined(value),
                   "sklearn.metrics.davies_bouldin_score")
             for inputs in _inputs()]
    for inputs in _inputs():
        cases.append(_case(inputs + "_q_2", inputs, by_exponent(2, None),
                           NUMPY, q=2))
    known = np.round(2 * seeded(FAMILY, "known").standard_normal((6, 3)), 2)
    for q in (1, 2):
        for inputs in ("plain", "float64", "int32_labels"):
            cases.append(_case(
                f"{inputs}_known_{q}", inputs, by_exponent(q, known), NUMPY,
                q=q, centroids=[float(x) for x in known.reshape(-1)]))
    return Fixture("DaviesBouldinScore", "scikit-learn 1.9.1", cases)


def _dunn() -> Fixture:
    def distances(a: np.ndarray, b: np.ndarray, p: float) -> np.ndarray:
        return cdist(a, b, "minkowski", p=p)

    def centroid(data: np.ndarray, labels: np.ndarray, p: float) -> float:
        clusters = [data[labels == k] for k in np.unique(labels)]
        means = np.array([c.mean(0) for c in clusters])
        between = distances(means, means, p)[np.triu_indices(len(means), 1)]
        widest = max(distances(c, m[None], p).max()
                     for c, m in zip(clusters, means, strict=True))
        return between.min() / widest

    def classical(data: np.ndarray, labels: np.ndarray, p: float) -> float:
        clusters = [data[labels == k] for k in np.unique(labels)]
        between = min(distances(a, b, p).min()
                      for a, b in itertools.combinations(clusters, 2))
        return between / max(distances(c, c, p).max() for c in clusters)

    cases = []
    for method, value in (("centroid", centroid), ("classical", classical)):
        for p in (1, 2, 3):
            names = _inputs() if p == 2 else ("plain", "many_clusters")
            for inputs in names:
                # Without scatter the index is infinite.
                if inputs in ("constant", "all_alone", "one_cluster"):
                    continue
                cases.append(_case(
                    f"{inputs}_{method}_{p}", inputs,
                    lambda data, labels, value=value, p=p: value(
                        data - data[0], labels, p),
                    "NumPy and SciPy: by definition", method=method, p=p))
    for inputs, expected in (("constant", np.inf), ("all_alone", np.inf),
                             ("one_cluster", np.nan)):
        cases.append(_case(inputs, inputs, lambda *_, e=expected: e, NUMPY))
    return Fixture("DunnIndex", "SciPy 1.17.1", cases)


def _silhouette() -> Fixture:
    def value(distance: str) -> Value:
        def score(data: np.ndarray, labels: np.ndarray) -> float:
            table = cdist(data - data[0], data - data[0], distance)
            return metrics.silhouette_score(table, labels,
                                            metric="precomputed")

        return _defined(score)

    return Fixture("SilhouetteScore", "scikit-learn 1.9.1", [
        _case(f"{inputs}_{distance}", inputs, value(distance),
              "sklearn.metrics.silhouette_score", distance_metric=distance)
        for distance in ("euclidean", "sqeuclidean") for inputs in _inputs()])
