"""Overlaps of segmentations: Dice, generalized Dice and mean IoU."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, jaccard_score

from .fixture import Case, Fixture
from .sampling import ROWS, SIZES, seeded, split

ABSENT = {"nan": np.nan, "zero": 0.0, "one": 1.0}
DICE = "sklearn.metrics.f1_score of each class of each sample"
IOU = "sklearn.metrics.jaccard_score of each class of each sample"
OWN = "NumPy: by definition"


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_dice(), _generalized_dice(), _mean_iou()]


def drawn_labels(rng: np.random.Generator, shape: tuple[int, ...],
                 classes: int, agreement: float = 0.7) -> tuple[Any, Any]:
    """A target of coarse blocks, in which some samples lack classes, and
    predictions that agree with it in most places."""
    coarse = tuple((n + 2) // 3 for n in shape[1:])
    target = rng.integers(0, classes, (shape[0], *coarse))
    for axis in range(1, len(shape)):
        target = np.repeat(target, 3, axis)
    target = target[tuple(slice(n) for n in shape)]
    target[::4] = np.minimum(target[::4], classes - 2) if classes > 2 else 0
    other = rng.integers(0, classes, shape)
    other[::4] = np.minimum(other[::4], max(classes - 2, 0))
    preds = np.where(rng.random(shape) < agreement, target, other)
    return preds.astype("int64"), target.astype("int64")


def one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    """Labels [N, ...] as masks [N, C, ...]."""
    return np.moveaxis(np.eye(classes, dtype=bool)[labels], -1, 1)


def masks_of(inputs: np.ndarray, classes: int, dims: int) -> np.ndarray:
    """What an input says, as masks [N, C, places]."""
    if inputs.ndim == dims + 1:
        masks = one_hot(inputs.astype("int64"), classes)
    elif inputs.dtype.kind == "f":
        masks = one_hot(inputs.argmax(1), classes)
    else:
        masks = inputs.astype(bool)
    return masks.reshape(*masks.shape[:2], -1)


def counted(masks: np.ndarray, background: bool) -> np.ndarray:
    """Without class 0, if that is the background."""
    return masks if background or masks.shape[1] == 1 else masks[:, 1:]


def _by_class(preds: np.ndarray, target: np.ndarray, score: Callable,
              absent: float) -> np.ndarray:
    """[C] of masks [C, places]."""
    values = []
    for p, t in zip(preds, target, strict=True):
        present = p.any() or t.any()
        values.append(score(t, p, pos_label=True, zero_division=0)
                      if present else absent)
    return np.array(values)


def _average(preds: np.ndarray, target: np.ndarray, score: Callable,
             average: str, absent: float) -> Any:
    values = _by_class(preds, target, score, absent)
    if average == "none":
        return values
    if not (preds.any() or target.any()):
        return absent
    if average == "micro":
        return score(target.reshape(-1), preds.reshape(-1), pos_label=True,
                     zero_division=0)
    if average == "weighted":
        support = target.sum(1)
        if support.sum() == 0:
            return 0.0
        return np.nansum(np.where(support > 0, values, 0) * support) \
            / support.sum()
    return np.nanmean(values)


def _generalized(preds: np.ndarray, target: np.ndarray, weight: str,
                 absent: float) -> float:
    if not (preds.any() or target.any()):
        return absent
    sizes = target.sum(1).astype("float64")
    if sizes.sum() == 0:
        return 0.0
    power = {"square": 2, "simple": 1, "linear": 0}[weight]
    weights = 1 / np.where(sizes > 0, sizes, sizes[sizes > 0].min()) ** power
    both = (preds & target).sum(1)
    return 2 * (weights * both).sum() \
        / (weights * (preds.sum(1) + target.sum(1))).sum()


def _expected(values: np.ndarray) -> dict[str, Any]:
    """Means over samples of what is not NaN, and how many these are."""
    cases = np.asarray((~np.isnan(values)).sum(0), dtype="int64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return {"": np.asarray(np.nanmean(values, 0)), "cases": cases}


def _case(name: str, preds: np.ndarray, target: np.ndarray, dims: int,
          of_sample: Callable, source: str, batches: tuple[int, ...] = SIZES,
          inputs: str | None = None, **options) -> Case:
    """`of_sample(preds, target, absent)` of masks [C, places]."""
    classes = options.get("num_classes") or preds.shape[1]
    absent = ABSENT[options.get("absent", "nan")]
    p, t = (counted(masks_of(x, classes, dims),
                    options.get("include_background", True))
            for x in (preds, target))
    values = np.array([of_sample(a, b, absent)
                       for a, b in zip(p, t, strict=True)])
    expected = _expected(values)
    if options.get("aggregation_level") == "global":
        whole = [np.moveaxis(x, 0, 1).reshape(x.shape[1], -1) for x in (p, t)]
        expected[""] = np.asarray(of_sample(*whole, absent))
    if not options.setdefault("count_cases", True):
        expected.pop("cases")
    return Case(name, options, split(preds, target, sizes=batches), expected,
                source, inputs=inputs)


def _inputs(metric: str, label: str, classes: int,
            places: tuple[int, ...] = (5, 7),
            rows: int = ROWS) -> tuple[Any, Any]:
    return drawn_labels(seeded(metric, label), (rows, *places), classes)


def _scores(rng: np.random.Generator, labels: np.ndarray,
            classes: int) -> np.ndarray:
    scores = np.round(rng.random((len(labels), classes, *labels.shape[1:])), 2)
    scores += one_hot(labels, classes)
    return scores.astype("float32")


def _dice() -> Fixture:
    metric = "DiceScore"

    def case(label: str, preds: np.ndarray, target: np.ndarray, dims: int = 2,
             **options) -> Case:
        average = options.get("average", "macro")
        return _case(label, preds, target, dims,
                     lambda p, t, absent: _average(p, t, f1_score, average,
                                                   absent),
                     DICE, **options)

    def index(label: str, **options) -> Case:
        return case(label, *_inputs("segmentation", "labels", 4),
                    inputs="segmentation/labels", num_classes=4,
                    input_format="index", **options)

    masks = seeded(metric, "masks").random((2, ROWS, 3, 4, 5)) < 0.4
    masks[:, ::5, 1] = False
    preds, target = _inputs(metric, "scores", 3)
    scores = _scores(seeded(metric, "score"), preds, 3)
    volume = _inputs(metric, "volume", 3, (3, 4, 5), 4)
    absent = _inputs(metric, "absent", 2)
    return Fixture(metric, "scikit-learn 1.9.1", [
        index("macro"), index("micro", average="micro"),
        index("weighted", average="weighted"), index("none", average="none"),
        index("global", aggregation_level="global"),
        index("global_none", aggregation_level="global", average="none"),
        index("global_micro", aggregation_level="global", average="micro"),
        index("global_weighted", aggregation_level="global",
              average="weighted"),
        index("no_background", include_background=False),
        index("no_background_none", include_background=False, average="none"),
        index("no_background_weighted", include_background=False,
              average="weighted"),
        index("absent_zero", absent="zero"),
        index("absent_one", absent="one"),
        index("absent_one_none", absent="one", average="none"),
        index("no_cases", count_cases=False),
        case("masks", *masks, num_classes=3),
        case("masks_none", *masks.astype("int64"), num_classes=3,
             average="none"),
        case("one_mask", *masks[:, :, :1], num_classes=1,
             include_background=False),
        case("scores", scores, one_hot(target, 3).astype("uint8"),
             num_classes=3),
        case("mixed_scores", scores, target.astype("int32"), num_classes=3,
             input_format="mixed"),
        case("mixed_masks", target, masks_of(preds, 3, 2).reshape(
            ROWS, 3, 5, 7).astype("uint8"), num_classes=3,
             input_format="mixed"),
        case("volume", *volume, 3, num_classes=3, input_format="index",
             batches=(2, 1, 0, 1)),
        case("line", *(x.reshape(ROWS, -1) for x in absent), 1, num_classes=2,
             input_format="index", include_background=False),
        case("line_absent_one", *(x.reshape(ROWS, -1) for x in absent), 1,
             num_classes=2, input_format="index", include_background=False,
             absent="one"),
    ])


def _generalized_dice() -> Fixture:
    metric = "GeneralizedDiceScore"

    def case(label: str, preds: np.ndarray, target: np.ndarray,
             **options) -> Case:
        def of_sample(p, t, absent):
            if options.get("per_class"):
                return _by_class(p, t, f1_score, absent)
            return _generalized(p, t, options.get("weight_type", "square"),
                                absent)

        return _case(label, preds, target, 2, of_sample,
                     DICE if options.get("per_class") else OWN, **options)

    def index(label: str, **options) -> Case:
        return case(label, *_inputs("segmentation", "labels", 4),
                    inputs="segmentation/labels", num_classes=4,
                    input_format="index", **options)

    masks = seeded(metric, "masks").random((2, ROWS, 3, 4, 5)) < 0.3
    masks[1, ::3, 1] = False  # only predicted
    masks[:, ::6] = False
    return Fixture(metric, "NumPy", [
        index("square"), index("simple", weight_type="simple"),
        index("linear", weight_type="linear"),
        index("per_class", per_class=True),
        index("no_background", include_background=False),
        case("masks", *masks, num_classes=3),
        case("masks_simple", *masks, num_classes=3, weight_type="simple"),
        case("masks_absent_one", *masks, num_classes=3, absent="one"),
        case("masks_absent_zero", *masks, num_classes=3, absent="zero"),
    ])


def _mean_iou() -> Fixture:
    metric = "MeanIoU"

    def case(label: str, preds: np.ndarray, target: np.ndarray,
             **options) -> Case:
        average = "none" if options.get("per_class") else "macro"
        return _case(label, preds, target, 2,
                     lambda p, t, absent: _average(p, t, jaccard_score,
                                                   average, absent),
                     IOU, **options)

    def index(label: str, **options) -> Case:
        return case(label, *_inputs("segmentation", "labels", 4),
                    inputs="segmentation/labels", num_classes=4,
                    input_format="index", **options)

    masks = seeded(metric, "masks").random((2, ROWS, 3, 4, 5)) < 0.4
    masks[:, ::5, 1] = False
    return Fixture(metric, "scikit-learn 1.9.1", [
        index("macro"), index("per_class", per_class=True),
        index("global", aggregation_level="global"),
        index("global_per_class", aggregation_level="global", per_class=True),
        index("no_background", include_background=False, per_class=True),
        index("absent_zero", absent="zero", per_class=True),
        index("absent_one", absent="one"),
        case("masks", *masks, num_classes=3),
        case("by_inputs", *masks), case("by_inputs_per_class", *masks,
                                        per_class=True),
    ])
