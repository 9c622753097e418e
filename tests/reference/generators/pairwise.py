"""Pairs of rows, and ProcrustesDisparity."""

import numpy as np
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity, linear_kernel

from .fixture import Case, Fixture
from .sampling import ROWS, normal, seeded, split

REDUCTIONS = {"mean": np.mean, "sum": np.sum}


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_pairwise(), _procrustes()]


def _pairwise() -> Fixture:
    """Of functions, not of a metric: one batch of x, or of x and y."""
    name = "Pairwise"
    functions = {
        "cosine_similarity": (cosine_similarity, "scikit-learn"),
        "linear_similarity": (linear_kernel, "scikit-learn"),
        "euclidean_distance": (cdist, "scipy.spatial.distance.cdist"),
        "manhattan_distance": (lambda a, b: cdist(a, b, "cityblock"),
                               "scipy.spatial.distance.cdist"),
        "minkowski_distance": (lambda a, b: cdist(a, b, "minkowski", p=3),
                               "scipy.spatial.distance.cdist, p=3"),
    }
    cases = []
    for function, (score, source) in functions.items():
        for y_rows in (None, 5):
            for reduction in ("none", "mean", "sum"):
                for zero_diagonal in (None, True, False):
                    label = f"{function}_{y_rows}_{reduction}_{zero_diagonal}"
                    x = normal(seeded(name, label, "x"), (7, 4), "float64")
                    y = x if y_rows is None else normal(
                        seeded(name, label, "y"), (y_rows, 4), "float64")
                    values = np.array(score(x, y))
                    if zero_diagonal or (zero_diagonal is None
                                         and y_rows is None):
                        np.fill_diagonal(values, 0)
                    if reduction != "none":
                        values = REDUCTIONS[reduction](values, axis=1)
                    inputs = (x,) if y_rows is None else (x, y)
                    cases.append(Case(
                        label, {"function": function, "reduction": reduction,
                                "zero_diagonal": zero_diagonal},
                        [inputs], values, source, rtol=1e-12, atol=1e-14,
                        row_split=False))
    return Fixture(name, "SciPy 1.17.1, scikit-learn 1.9.1", cases)


def _turned_only(a: np.ndarray, b: np.ndarray) -> float:
    """The disparity by the best rotation that mirrors nothing."""
    a, b = (x - x.mean(0) for x in (a, b))
    u, values, v = np.linalg.svd((a / np.linalg.norm(a)).T
                                 @ (b / np.linalg.norm(b)))
    values[-1] *= np.sign(np.linalg.det(u @ v))
    return 1 - values.sum() ** 2


def _procrustes() -> Fixture:
    name = "ProcrustesDisparity"

    def inputs(label: str, points: int, dims: int, dtype: str = "float32",
               mirrored: bool = False) -> tuple[np.ndarray, np.ndarray]:
        rng = seeded(name, label)
        a = normal(rng, (ROWS, points, dims), "float64")
        b = 0.8 * a[..., ::-1] + 0.6 * normal(rng, a.shape, "float64") + 2
        if mirrored:
            b[..., 0] *= -1
        return a.astype(dtype), np.round(b, 3).astype(dtype)

    def case(label: str, pair: tuple[np.ndarray, np.ndarray],
             **options) -> Case:
        reflects = options.get("reflection", True)
        values = [procrustes(a, b)[2] if reflects else _turned_only(a, b)
                  for a, b in zip(*(x.astype("float64") for x in pair),
                                  strict=True)]
        reduce = REDUCTIONS[options.get("reduction", "mean")]
        return Case(label, options, split(*pair), reduce(values),
                    "scipy.spatial.procrustes" if reflects
                    else "NumPy: by definition")

    integers = tuple(seeded(name, "int64").integers(-9, 10, (2, ROWS, 5, 2)))
    return Fixture(name, "SciPy 1.17.1", [
        case("mean", inputs("mean", 6, 2)),
        case("sum", inputs("sum", 5, 3), reduction="sum"),
        case("float64", inputs("float64", 6, 3, "float64")),
        case("few_points", inputs("few_points", 3, 4)),
        case("no_reflection", inputs("no_reflection", 6, 2, mirrored=True),
             reflection=False),
        case("no_reflection_3d", inputs("no_reflection_3d", 6, 3,
                                        mirrored=True), reflection=False),
        case("int64", integers),
        case("far", tuple(x + 1e4 for x in inputs("far", 6, 2, "float64"))),
    ])
