"""Writes ../data/peers/: what MONAI makes of segmentations.

    python segmentation.py

MONAI computes in float32. Cases without both masks, which it gives as NaN or
infinity by turns, are not among these.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from monai.metrics import (compute_average_surface_distance,
                           compute_generalized_dice,
                           compute_hausdorff_distance, compute_surface_dice)

sys.path.append(str(Path(__file__).resolve().parents[1]))

from generators.fixture import Case, Fixture, to_text  # noqa: E402
from generators.sampling import split  # noqa: E402
from generators.segmentation import one_hot  # noqa: E402
from generators.surfaces import BATCHES, drawn  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "peers"
SOURCE = "MONAI 1.6.1"


def masks(metric: str, label: str, places: tuple[int, ...],
          classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and target, a mask for each class."""
    return tuple(one_hot(x, classes)
                 for x in drawn(metric, label, places, classes))


def case(label: str, pair: tuple[np.ndarray, np.ndarray],
         values: torch.Tensor, **options) -> Case:
    """The mean of values [N, C] over samples, or over all."""
    values = values.double().numpy()
    assert np.isfinite(values).all()
    expected = {
        "": values.mean(0) if options.get("per_class") else values.mean(),
        "cases": np.full(values.shape[1], len(values))
        if options.get("per_class") else np.int64(values.size),
    }
    preds, target = (x.astype("uint8") for x in pair)
    return Case(label, {**options, "count_cases": True},
                split(preds, target, sizes=BATCHES), expected, SOURCE,
                rtol=1e-6)


def tensors(pair: tuple[np.ndarray, np.ndarray]) -> tuple[torch.Tensor, ...]:
    """What MONAI takes."""
    return tuple(torch.from_numpy(x).float() for x in pair)


def family(metric: str, compute, **always) -> Fixture:
    """Images and volumes, with spacing; `compute(preds, target, options)`."""

    def one(label: str, places: tuple[int, ...], classes: int,
            **options) -> Case:
        pair = masks(metric, label, places, classes)
        options = {"num_classes": classes, **always, **options}
        return case(label, pair, compute(*tensors(pair), options), **options)

    more = []
    if metric == "HausdorffDistance":
        more = [one("percentile", (13, 19), 2, percentile=95.0),
                one("directed", (13, 19), 2, directed=True,
                    include_background=True)]
    return Fixture(metric, SOURCE, [
        one("image", (13, 19), 3, per_class=True),
        one("volume", (7, 6, 11), 2, include_background=True),
        one("spacing", (7, 6, 11), 2, spacing=[2.0, 0.75, 1.0]),
        *more,
    ])


def hausdorff(preds, target, options) -> torch.Tensor:
    """compute_hausdorff_distance."""
    return compute_hausdorff_distance(
        preds, target, options.get("include_background", False),
        percentile=options.get("percentile"),
        directed=options.get("directed", False),
        spacing=options.get("spacing"))


def average(preds, target, options) -> torch.Tensor:
    """compute_average_surface_distance, symmetric."""
    return compute_average_surface_distance(
        preds, target, options.get("include_background", False),
        symmetric=True, spacing=options.get("spacing"))


def normalized(preds, target, options) -> torch.Tensor:
    """compute_surface_dice."""
    background = options.get("include_background", False)
    classes = options["num_classes"] - (0 if background else 1)
    return compute_surface_dice(preds, target,
                                [options["tolerance"]] * classes, background,
                                spacing=options.get("spacing"))


def generalized(preds, target, options) -> torch.Tensor:
    """compute_generalized_dice."""
    weight = options.get("weight_type", "square")
    return compute_generalized_dice(
        preds, target, options.get("include_background", True),
        weight_type="uniform" if weight == "linear" else weight,
        sum_over_classes=True)


def generalized_dice() -> Fixture:
    """Samples with any foreground."""
    metric = "GeneralizedDiceScore"

    def one(label: str, places: tuple[int, ...], **options) -> Case:
        pair = masks(metric, label, places, 4)
        options = {"num_classes": 4, **options}
        return case(label, pair, generalized(*tensors(pair), options),
                    **options)

    return Fixture(metric, SOURCE, [
        one("square", (9, 8)),
        one("simple", (9, 8), weight_type="simple"),
        one("linear", (5, 4, 6), weight_type="linear"),
        one("no_background", (9, 8), include_background=False),
    ])


def main() -> None:
    """Writes the files."""
    warnings.filterwarnings("ignore")
    for fixture in (family("HausdorffDistance", hausdorff),
                    family("AverageSymmetricSurfaceDistance", average),
                    family("NormalizedSurfaceDistance", normalized,
                           tolerance=1.0),
                    generalized_dice()):
        path = DATA / f"{fixture.metric}.json"
        path.write_text(to_text(fixture), encoding="utf-8")


if __name__ == "__main__":
    main()
