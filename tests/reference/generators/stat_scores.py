"""MulticlassAccuracy, MulticlassPrecision, MulticlassRecall and
MulticlassF1Score."""

import dataclasses
from collections.abc import Callable

import numpy as np
from sklearn import metrics

from .fixture import Case, Fixture, Options
from .sampling import ROWS, join, rows_of, scores, seeded, split, targets

NUM_CLASSES = 5
SCORES = {"num_classes": NUM_CLASSES, "input": "scores"}
LABELS = {"num_classes": NUM_CLASSES, "input": "labels"}
AVERAGES = ("micro", "macro", "weighted", "none")
Score = Callable[..., np.ndarray]


@dataclasses.dataclass(frozen=True)
class Setup:
    """A case without its expected value: options and the joined inputs."""

    name: str
    options: Options
    # Where the inputs stand, which are drawn by this name.
    inputs: str
    preds: np.ndarray
    target: np.ndarray


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    source = "scikit-learn 1.9.1"
    divisible = {
        "MulticlassPrecision": metrics.precision_score,
        "MulticlassRecall": metrics.recall_score,
        "MulticlassF1Score": metrics.f1_score,
    }
    made = [Fixture("MulticlassAccuracy", source,
                    [_case(s, _accuracy) for s in _setups()])]
    for name, function in divisible.items():
        setups = _setups() + _zero_division_setups()
        cases = [_case(s, function) for s in setups]
        made.append(Fixture(name, source, cases))
    return made


def _accuracy(target: np.ndarray, preds: np.ndarray, *, average: str | None,
              **kwargs) -> np.ndarray:
    """Accuracy: correct / total, and per class tp / (tp + fn)."""
    if average == "micro":
        return metrics.accuracy_score(target, preds)
    return metrics.recall_score(target, preds, average=average, **kwargs)


def predicted_labels(preds: np.ndarray, target: np.ndarray,
                     options: Options) -> np.ndarray:
    """The predicted label of each target: [N, ...].

    With top_k, a target among the k best scores counts as predicted; a sample
    without it counts as predicted to be its best class.
    """
    if options["input"] == "labels":
        return preds
    rows = rows_of(preds)
    best = np.argsort(-rows, axis=1)[:, :options.get("top_k", 1)]
    flat = target.reshape(-1)
    hit = (best == flat[:, None]).any(1)
    return np.where(hit, flat, best[:, 0]).reshape(target.shape)


def score(function: Score, preds: np.ndarray, target: np.ndarray,
          options: Options) -> np.ndarray:
    """The score of labels [N]: ignored ones leave, absent classes too.

    So does an ignored class that is predicted.
    """
    keep = target != options.get("ignore_index", np.iinfo("int64").min)
    preds, target = preds[keep], target[keep]
    average = options.get("average", "macro")
    occurring = np.setdiff1d(np.union1d(target, preds),
                             [options.get("ignore_index", -1)])
    every = np.arange(options["num_classes"])
    zero = options.get("zero_division", 0)
    return np.asarray(function(
        target, preds,
        labels=occurring if average in ("macro", "weighted") else every,
        average=None if average == "none" else average,
        zero_division=np.nan if zero == "nan" else zero), dtype="float64")


def _case(setup: Setup, function: Score) -> Case:
    """The setup with its expected value."""
    options = setup.options
    batches = split(setup.preds, setup.target)
    preds, target = join(batches)
    labels = predicted_labels(preds, target.astype("int64"), options)
    target = target.astype("int64")
    if options.get("multidim_average") == "samplewise":
        size = len(target)
        expected = np.array([
            score(function, p, t, options) for p, t in
            zip(labels.reshape(size, -1), target.reshape(size, -1),
                strict=True)])
    else:
        expected = score(function, labels.reshape(-1), target.reshape(-1),
                         options)
    return Case(setup.name, options, batches, expected,
                _source(function, options), inputs=setup.inputs)


def _source(function: Score, options: Options) -> str:
    """Where the expected value of a case comes from."""
    average = options.get("average", "macro")
    name = function.__name__
    if function is _accuracy:
        name = "accuracy_score" if average == "micro" else "recall_score"
    text = f"sklearn.metrics.{name}"
    if average in ("macro", "weighted"):
        text += " over the classes in targets or predictions"
        if 0 <= options.get("ignore_index", -1) < NUM_CLASSES:
            text += " except the ignored one"
    if options.get("top_k", 1) > 1:
        text += "; top-k: the label is the target if it is in the top k, " \
                "else the best class"
    if options.get("multidim_average") == "samplewise":
        text += "; per sample"
    return text


def _inputs(name: str) -> str:
    """Where inputs of this name stand."""
    return f"multiclass_stat_scores/{name}"


def _setup(name: str, shape: tuple[int, ...] = (ROWS,),
           classes: list[int] | None = None, dtype: str = "float32",
           spread: float = 1.0, of: str | None = None, **options) -> Setup:
    """Scores and targets; all classes occur as targets unless given."""
    inputs = _inputs(of or name)
    rng = seeded(inputs)
    classes = list(range(NUM_CLASSES)) if classes is None else classes
    target = targets(rng, shape, classes)
    preds = scores(rng, target, NUM_CLASSES, dtype, spread)
    return Setup(name, {**SCORES, **options}, inputs, preds, target)


def _label_setup(name: str, shape: tuple[int, ...] = (ROWS,),
                 dtype: str = "int64", of: str | None = None,
                 **options) -> Setup:
    """Labels on both sides; about half of the predictions are right."""
    inputs = _inputs(of or name)
    rng = seeded(inputs)
    target = targets(rng, shape, list(range(NUM_CLASSES)))
    noise = rng.integers(0, NUM_CLASSES, shape)
    preds = np.where(rng.random(shape) < 0.5, target, noise)
    return Setup(name, {**LABELS, **options}, inputs, preds.astype(dtype),
                 target.astype(dtype))


def _absent(name: str, **options) -> Setup:
    """Class 1 is a target only, 3 is predicted only, 4 does not occur."""
    inputs = _inputs("absent")
    rng = seeded(inputs)
    target = targets(rng, (ROWS,), [0, 1, 2])
    preds = scores(rng, target, NUM_CLASSES)
    preds[:, [1, 4]] -= 20
    preds[[2, 9, 16], 3] += 20
    return Setup(name, {**SCORES, **options}, inputs, np.round(preds, 2),
                 target)


def _ignored(name: str, ignore_index: int, shape: tuple[int, ...] = (ROWS,),
             of: str | None = None, **options) -> Setup:
    """About a quarter of the targets ignored, never all of a sample's."""
    setup = _setup(name, shape, ignore_index=ignore_index, of=of, **options)
    rng = seeded(setup.inputs)
    mask = rng.random(shape) < 0.25
    mask.reshape(len(mask), -1)[:, 0] &= len(shape) == 1
    target = np.where(mask, ignore_index, setup.target)
    if len(shape) > 1 and 0 <= ignore_index < NUM_CLASSES:
        first = target.reshape(len(target), -1)[:, 0]
        first[first == ignore_index] = ignore_index + 1
    return dataclasses.replace(setup, target=target)


def _setups() -> list[Setup]:
    """The cases that all four metrics share."""
    return (_average_setups() + _ignore_setups() + _top_k_setups()
            + _multidim_setups() + _dtype_setups())


def _average_setups() -> list[Setup]:
    setups = [_setup(a, average=a, of="scores") for a in AVERAGES]
    setups += [_label_setup(f"labels_{a}", average=a, of="labels")
               for a in AVERAGES]
    setups += [_absent(f"absent_{a}", average=a)
               for a in ("macro", "weighted", "none")]
    return setups


def _ignore_setups() -> list[Setup]:
    setups = [_ignored(f"ignore_inside_{a}", 2, average=a, of="ignore_inside")
              for a in AVERAGES]
    setups += [_ignored(f"ignore_outside_{a}", -100, average=a,
                        of="ignore_outside") for a in AVERAGES]
    return setups


def _top_k_setups() -> list[Setup]:
    setups = [_setup(f"top2_{a}", average=a, top_k=2, of="scores")
              for a in AVERAGES]
    return setups + [
        _setup("top3_macro", average="macro", top_k=3, of="scores"),
        _setup("top3_none", average="none", top_k=3, of="scores"),
        _ignored("top2_ignore_inside", 2, average="none", top_k=2,
                 of="ignore_inside"),
        _ignored("top2_ignore_outside", -100, average="micro", top_k=2,
                 of="ignore_outside"),
        _setup("top2_multidim", (ROWS, 3), average="macro", top_k=2,
               of="multidim"),
        _setup("top2_samplewise", (ROWS, 3), average="micro", top_k=2,
               multidim_average="samplewise", of="multidim"),
    ]


def _multidim_setups() -> list[Setup]:
    samplewise: Options = {"multidim_average": "samplewise"}
    setups = [
        _setup("multidim_macro", (ROWS, 3), average="macro",
               multidim_average="global", of="multidim"),
        _setup("multidim_2x2_micro", (ROWS, 2, 2), average="micro"),
        _label_setup("multidim_labels", (ROWS, 2, 2), average="weighted"),
        _ignored("multidim_ignore", -1, (ROWS, 3), average="none"),
    ]
    setups += [_setup(f"samplewise_{a}", (ROWS, 4), average=a,
                      of="samplewise", **samplewise) for a in AVERAGES]
    return setups + [
        _label_setup("samplewise_labels", (ROWS, 2, 3), average="macro",
                     **samplewise),
        _ignored("samplewise_ignore_outside", -100, (ROWS, 4),
                 average="macro", **samplewise),
        _ignored("samplewise_ignore_inside", 1, (ROWS, 4), average="none",
                 **samplewise),
    ]


def _dtype_setups() -> list[Setup]:
    close = _setup("float64_close_scores", dtype="float64", spread=1e-9,
                   average="macro")
    masked = _ignored("uint8_ignore_255", 255, (ROWS, 3), average="micro")
    return [
        _setup("float64", dtype="float64", average="macro"),
        dataclasses.replace(close, preds=1 + close.preds),
        _setup("large_scores", spread=1e4, average="macro"),
        _label_setup("int32_labels", dtype="int32", average="macro"),
        dataclasses.replace(masked, target=masked.target.astype("uint8")),
    ]


def _zero_division_setups() -> list[Setup]:
    """Values for undefined classes; NaN classes leave the averages."""
    return [_absent(f"zero_division_{value}_{average}",
                    average=average, zero_division=value)
            for value in (1, "nan") for average in AVERAGES[1:]]
