"""Distances between the surfaces of segmentations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.spatial.distance import cdist
from surface_distance import compute_surface_distances

from .fixture import Case, Fixture
from .sampling import seeded, split
from .segmentation import ABSENT, counted, masks_of

# Few and small: each sample has many places.
BATCHES = (3, 1, 0, 2)
SAMPLES = sum(BATCHES)
METRICS = {"euclidean": "euclidean", "chessboard": "chebyshev",
           "taxicab": "cityblock"}
VOXEL = "scipy.ndimage.binary_erosion, scipy.spatial.distance.cdist"
ELEMENT = "surface-distance 0.1"


@dataclass
class Points:
    """Distances from the points of a surface to the other one, and sizes."""

    distances: np.ndarray
    sizes: np.ndarray


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_hausdorff(), _average(), _normalized(), _boundary()]


def blobs(rng: np.random.Generator, shape: tuple[int, ...],
          level: float = 0.15) -> np.ndarray:
    """Masks of smooth noise."""
    noise = np.array([ndimage.gaussian_filter(x, 1.2)
                      for x in rng.standard_normal(shape)])
    return noise > level * noise.std()


def drawn(metric: str, label: str, places: tuple[int, ...],
          classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Labels of predictions and target that look alike."""
    rng = seeded(metric, label)
    target = np.zeros((SAMPLES, *places), "int64")
    preds = target.copy()
    for c in range(1, classes):
        mask = blobs(rng, target.shape)
        target[mask] = c
        moved = np.roll(mask, c, -1) ^ (rng.random(mask.shape) < 0.02)
        preds[moved] = c
    return preds, target


def distances_to(points: np.ndarray, others: np.ndarray,
                 spacing: np.ndarray, metric: str) -> np.ndarray:
    """From each place that is set in `points` to the nearest in `others`."""
    a, b = (np.argwhere(x) * spacing for x in (points, others))
    return cdist(a, b, METRICS[metric]).min(1)


def pair_of(preds: np.ndarray, target: np.ndarray, spacing: np.ndarray,
            metric: str, surface: Callable) -> tuple[Points, Points]:
    """Both surfaces, of places that count once each."""
    p, t = surface(preds), surface(target)
    return tuple(Points(distances_to(a, b, spacing, metric),
                        np.ones(a.sum())) for a, b in ((p, t), (t, p)))


def voxels(mask: np.ndarray) -> np.ndarray:
    """Places with a neighbor outside."""
    return mask ^ ndimage.binary_erosion(mask)


def edges(mask: np.ndarray) -> np.ndarray:
    """DAVIS' seg2bmap: places that differ from the next ones."""
    padded = np.pad(mask, [(0, 1)] * mask.ndim, mode="edge")
    result = np.zeros_like(mask)
    for step in np.ndindex(*(2,) * mask.ndim):
        part = tuple(slice(s, s + n) for s, n in zip(step, mask.shape,
                                                     strict=True))
        result |= padded[part] != mask
    return result


def elements(preds: np.ndarray, target: np.ndarray,
             spacing: np.ndarray) -> tuple[Points, Points]:
    """surface-distance's elements."""
    found = compute_surface_distances(target, preds, list(spacing))
    return (Points(found["distances_pred_to_gt"], found["surfel_areas_pred"]),
            Points(found["distances_gt_to_pred"], found["surfel_areas_gt"]))


def percentile(points: list[Points], percent: float, weighted: bool) -> float:
    """numpy.percentile, or the inverse of the weighted distribution."""
    distances = np.concatenate([p.distances for p in points])
    if not weighted:
        return float(np.percentile(distances, percent))
    sizes = np.concatenate([p.sizes for p in points])
    order = np.argsort(distances, kind="stable")
    reached = np.cumsum(sizes[order]) / sizes.sum()
    place = np.searchsorted(reached, percent / 100 * (1 - 1e-12))
    return float(distances[order][min(place, len(order) - 1)])


def _case(name: str, preds: np.ndarray, target: np.ndarray, score: Callable,
          one_sided: float, source: str, boundary: Callable = voxels,
          inputs: str | None = None, **options) -> Case:
    """`score(preds points, target points, sizes of a sample)`."""
    classes = options["num_classes"]
    dims = preds.ndim - (1 if options.get("input_format") == "index" else 2)
    places = preds.shape[-dims:]
    spacing = np.array(options.get("spacing") or [1.0] * dims)
    absent = ABSENT[options.get("absent", "nan")]
    p, t = (counted(masks_of(x, classes, dims),
                    options.get("include_background", False))
            for x in (preds, target))
    values = np.full(p.shape[:2], np.nan)
    for n, c in np.ndindex(*values.shape):
        a, b = p[n, c].reshape(places), t[n, c].reshape(places)
        has = [boundary(x).any() for x in (a, b)]
        if not any(has):
            values[n, c] = absent
        elif not all(has):
            values[n, c] = options.get("empty_penalty", one_sided)
        elif options.get("surface") == "element":
            values[n, c] = score(*elements(a, b, spacing), places)
        else:
            pair = pair_of(a, b, spacing,
                           options.get("distance_metric", "euclidean"),
                           boundary)
            values[n, c] = score(*pair, places)
    axis = 0 if options.get("per_class") else None
    known = ~np.isnan(values)
    count = known.sum(axis)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, values, 0).sum(axis) / count
    expected: dict[str, Any] = {"": np.asarray(mean, dtype="float64"),
                                "cases": np.asarray(count, dtype="int64")}
    return Case(name, {**options, "count_cases": True},
                split(preds, target, sizes=BATCHES), expected, source,
                inputs=inputs)


def _images() -> tuple[np.ndarray, np.ndarray]:
    return drawn("surfaces", "images", (12, 17))


def _volumes() -> tuple[np.ndarray, np.ndarray]:
    return drawn("surfaces", "volumes", (6, 7, 9))


def _empty() -> tuple[np.ndarray, np.ndarray]:
    """One mask is empty in the first sample, both are in the next two."""
    preds, target = drawn("surfaces", "empty", (9, 8), 3)
    preds[:3] = 0
    target[1:3] = 0
    return preds, target


def _family(score_of: Callable, one_sided: float,
            extra: list[tuple[str, dict[str, Any]]],
            **always) -> list[Case]:
    """Cases that all metrics of surfaces have, and others."""

    def case(label: str, preds: np.ndarray, target: np.ndarray,
             **options) -> Case:
        options = {"num_classes": 2, "input_format": "index", **always,
                   **options}
        source = ELEMENT if options.get("surface") == "element" else VOXEL
        return _case(label, preds, target, score_of(options), one_sided,
                     source, **options)

    def image(label: str, **options) -> Case:
        return case(label, *_images(), inputs="surfaces/images", **options)

    def volume(label: str, **options) -> Case:
        return case(label, *_volumes(), inputs="surfaces/volumes", **options)

    def empty(label: str, **options) -> Case:
        return case(label, *_empty(), inputs="surfaces/empty", num_classes=3,
                    **options)

    wide = tuple(np.moveaxis(np.eye(3, dtype="uint8")[x], -1, 1)
                 for x in drawn("surfaces", "masks", (5, 70), 3))
    return [
        image("image"), volume("volume"),
        image("full", include_background=True, per_class=True),
        case("masks", *wide, inputs="surfaces/masks", num_classes=3,
             input_format="one-hot", per_class=True),
        empty("empty", per_class=True), empty("empty_pooled"),
        empty("absent_zero", absent="zero"),
        empty("absent_one", absent="one", per_class=True),
        image("element", surface="element"),
        image("element_spacing", surface="element", spacing=[2.0, 0.75]),
        volume("volume_element", surface="element"),
        volume("volume_element_spacing", surface="element",
               spacing=[2.5, 1.0, 0.8]),
        image("taxicab", distance_metric="taxicab", spacing=[2.0, 0.75]),
        volume("chessboard", distance_metric="chessboard",
               spacing=[0.7, 1.0, 2.0]),
        *(image(label, **options) for label, options in extra),
    ]


def _hausdorff() -> Fixture:
    def score_of(options: dict[str, Any]) -> Callable:
        percent = options.get("percentile", 100)
        weighted = options.get("surface") == "element"

        def score(p: Points, t: Points, _) -> float:
            if options.get("directed"):
                return percentile([p], percent, weighted)
            if options.get("percentile_of") == "pooled":
                return percentile([p, t], percent, weighted)
            return max(percentile([p], percent, weighted),
                       percentile([t], percent, weighted))

        return score

    cases = _family(score_of, np.inf, [
        ("spacing", {"spacing": [0.5, 1.3]}),
        ("percentile", {"percentile": 95}),
        ("percentile_0", {"percentile": 0}),
        ("percentile_spacing", {"percentile": 80, "spacing": [3.0, 1.0]}),
        ("pooled", {"percentile": 90, "percentile_of": "pooled"}),
        ("element_percentile", {"percentile": 95, "surface": "element"}),
        ("element_pooled", {"percentile": 50, "surface": "element",
                            "percentile_of": "pooled"}),
        ("directed", {"directed": True}),
        ("directed_percentile", {"directed": True, "percentile": 75}),
    ])
    options = {"num_classes": 3, "input_format": "index", "per_class": True,
               "empty_penalty": 50.0}
    cases.append(_case("empty_penalty", *_empty(), score_of(options), np.inf,
                       VOXEL, inputs="surfaces/empty", **options))
    return Fixture("HausdorffDistance",
                   "SciPy 1.17.1, surface-distance 0.1", cases)


def _average() -> Fixture:
    def score_of(_) -> Callable:
        def score(p: Points, t: Points, _) -> float:
            distances = np.concatenate([p.distances, t.distances])
            return float(np.average(distances, weights=np.concatenate(
                [p.sizes, t.sizes])))

        return score

    return Fixture(
        "AverageSymmetricSurfaceDistance", "SciPy 1.17.1, surface-distance 0.1",
        _family(score_of, np.inf, [
            ("spacing", {"spacing": [0.5, 1.3]}),
        ]))


def _near(p: Points, t: Points, tolerance: float) -> float:
    near = sum(x.sizes[x.distances <= tolerance * (1 + 1e-6)].sum()
               for x in (p, t))
    return float(near / (p.sizes.sum() + t.sizes.sum()))


def _normalized() -> Fixture:
    def score_of(options: dict[str, Any]) -> Callable:
        return lambda p, t, _: _near(p, t, options["tolerance"])

    return Fixture(
        "NormalizedSurfaceDistance", "SciPy 1.17.1, surface-distance 0.1",
        _family(score_of, 0.0, [
            ("tolerance_0", {"tolerance": 0.0}),
            ("spacing", {"tolerance": 0.3, "spacing": [0.1, 0.1]}),
        ], tolerance=1.0))


def _boundary() -> Fixture:
    def score_of(options: dict[str, Any]) -> Callable:
        def score(p: Points, t: Points, places: tuple[int, ...]) -> float:
            tolerance = options.get("tolerance")
            if tolerance is None:
                tolerance = np.ceil(0.008 * np.linalg.norm(places))
            most = tolerance * (1 + 1e-6)
            precision, recall = ((x.distances <= most).mean()
                                 for x in (p, t))
            return 2 * precision * recall / (precision + recall) \
                if precision + recall > 0 else 0.0

        return score

    def case(label: str, inputs: str, pair: tuple[np.ndarray, np.ndarray],
             **options) -> Case:
        options = {"num_classes": 2, "input_format": "index", **options}
        return _case(label, *pair, score_of(options), 0.0,
                     "DAVIS: db_eval_boundary", edges,
                     inputs="surfaces/" + inputs, **options)

    def image(label: str, **options) -> Case:
        return case(label, "images", _images(), **options)

    def empty(label: str, **options) -> Case:
        return case(label, "empty", _empty(), num_classes=3, **options)

    return Fixture("BoundaryF1", "SciPy 1.17.1", [
        image("image"), case("volume", "volumes", _volumes()),
        image("tolerance", tolerance=2), image("tolerance_0", tolerance=0),
        image("spacing", tolerance=0.3, spacing=[0.1, 0.3]),
        image("background", include_background=True, per_class=True),
        empty("empty", per_class=True), empty("empty_pooled"),
        empty("absent_one", absent="one"),
    ])
