"""MulticlassConfusionMatrix."""

import warnings

import numpy as np
from sklearn import metrics

from .fixture import Case, Fixture
from .sampling import ROWS, join, rows_of, scores, seeded, split, targets

SOURCE = "sklearn.metrics.confusion_matrix; an empty row or column gives 0"
MODES = ("none", "true", "pred", "all")


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    cases = [_labels(f"labels_{m}", normalize=m, of="labels") for m in MODES]
    cases += [_scores(f"scores_{m}", normalize=m, of="scores") for m in MODES]
    cases += [_labels(f"absent_{m}", classes=[0, 1, 3], normalize=m,
                      of="absent") for m in MODES]
    cases += [
        _labels("ignore_inside", ignored=2, normalize="none"),
        _labels("ignore_inside_true", ignored=2, normalize="true",
                of="ignore_inside"),
        _labels("ignore_outside", ignored=-100, normalize="none"),
        _scores("ignore_outside_all", ignored=-1, normalize="all"),
        _labels("two_classes", classes=[0, 1], num_classes=2),
        _labels("int32", dtype="int32"),
        _labels("uint8_ignore_255", dtype="uint8", ignored=255),
        _labels("multidim_labels", (ROWS, 2, 2), normalize="pred"),
        _scores("multidim_scores", (ROWS, 3)),
    ]
    return [Fixture("MulticlassConfusionMatrix", "scikit-learn 1.9.1", cases)]


def _labels(name: str, shape: tuple[int, ...] = (ROWS,),
            classes: list[int] | None = None, num_classes: int = 4,
            dtype: str = "int64", ignored: int | None = None,
            of: str | None = None, **options) -> Case:
    """Labels on both sides, from the given classes."""
    inputs = _inputs(of or name)
    rng = seeded(inputs)
    classes = list(range(num_classes)) if classes is None else classes
    target = targets(rng, shape, classes)
    preds = np.where(rng.random(shape) < 0.5, target,
                     rng.choice(classes, shape))
    options = {"num_classes": num_classes, "input": "labels", **options}
    return _case(name, options, inputs, preds.astype(dtype), target, dtype,
                 ignored, rng)


def _scores(name: str, shape: tuple[int, ...] = (ROWS,),
            num_classes: int = 4, ignored: int | None = None,
            of: str | None = None, **options) -> Case:
    """Scores [N, C, ...] against labels."""
    inputs = _inputs(of or name)
    rng = seeded(inputs)
    target = targets(rng, shape, list(range(num_classes)))
    preds = scores(rng, target, num_classes)
    options = {"num_classes": num_classes, "input": "scores", **options}
    return _case(name, options, inputs, preds, target, "int64", ignored, rng)


def _inputs(name: str) -> str:
    """Where inputs of this name stand."""
    return f"multiclass_confusion_matrix/{name}"


def _case(name: str, options: dict, inputs: str, preds: np.ndarray,
          target: np.ndarray, dtype: str, ignored: int | None,
          rng: np.random.Generator) -> Case:
    """Marks ignored targets and computes the matrix."""
    if ignored is not None:
        options["ignore_index"] = ignored
        target = np.where(rng.random(target.shape) < 0.25, ignored, target)
    batches = split(preds, target.astype(dtype))
    preds, target = join(batches)
    if options["input"] == "scores":
        preds = rows_of(preds).argmax(1)
    preds, target = preds.reshape(-1), target.reshape(-1)
    keep = np.full(target.shape, True) if ignored is None \
        else target != ignored
    normalize = options.get("normalize", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = metrics.confusion_matrix(
            target[keep], preds[keep],
            labels=np.arange(options["num_classes"]),
            normalize=None if normalize == "none" else normalize)
    return Case(name, options, batches, expected, SOURCE, inputs=inputs)
