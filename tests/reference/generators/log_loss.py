"""MulticlassLogLoss."""

import numpy as np
from scipy import special
from sklearn import metrics

from .fixture import Batch, Case, Fixture, Options
from .sampling import (ROWS, join, normal, probabilities, rows_of, seeded,
                       split, targets)

NUM_CLASSES = 4
PROBABILITIES = "-log(clip(p[target], eps, 1 - eps)) in float64, eps of the " \
    "probabilities' dtype; agrees with sklearn.metrics.log_loss"
LOGITS = "logsumexp(x) - x[target] in float64, not clipped"


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    cases = (_probability_cases() + _weight_cases() + _ignore_cases()
             + _logit_cases())
    return [Fixture("MulticlassLogLoss", "scikit-learn 1.9.1, SciPy 1.17.1",
                    cases)]


def sample_losses(preds: np.ndarray, labels: np.ndarray,
                  options: Options) -> np.ndarray:
    """The loss of each row of preds [N, C]."""
    picked = np.arange(len(labels)), labels
    wide = preds.astype("float64")
    if options["input"] == "logits":
        return special.logsumexp(wide, axis=1) - wide[picked]
    eps = float(np.finfo(preds.dtype).eps)
    return -np.log(np.clip(wide[picked], eps, 1 - eps))


def loss(batches: list[Batch], options: Options) -> float:
    """The weighted mean or sum over the rows that are not ignored."""
    preds, target, *rest = join(batches)
    rows, labels = rows_of(preds), target.reshape(-1)
    weights = rest[0].reshape(-1).astype("float64") if rest \
        else np.ones(len(labels))
    keep = labels != options.get("ignore_index", np.iinfo("int64").min)
    rows, labels, weights = rows[keep], labels[keep], weights[keep]
    losses = sample_losses(rows, labels, options)
    total = np.sum(weights * losses)
    value = total / weights.sum() if options.get("normalize", True) else total
    if options["input"] == "probabilities":
        _agree(value, rows, labels, weights, options)
    return value


def _agree(value: float, rows: np.ndarray, labels: np.ndarray,
           weights: np.ndarray, options: Options) -> None:
    """Compares with scikit-learn, which works in the inputs' dtype."""
    other = metrics.log_loss(labels, rows, labels=np.arange(rows.shape[1]),
                             sample_weight=weights,
                             normalize=options.get("normalize", True))
    rtol = 1e-12 if rows.dtype == np.float64 else 1e-5
    assert np.isclose(value, other, rtol=rtol), (value, other)


def _case(name: str, *inputs: np.ndarray, **options) -> Case:
    """A case from preds, target and, in some, weights."""
    options = {"num_classes": inputs[0].shape[1], **options}
    batches = split(*inputs)
    source = LOGITS if options["input"] == "logits" else PROBABILITIES
    return Case(name, options, batches, loss(batches, options), source)


def _data(name: str, shape: tuple[int, ...] = (ROWS,),
          dtype: str = "float32",
          num_classes: int = NUM_CLASSES) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and targets."""
    rng = seeded("MulticlassLogLoss", name)
    target = targets(rng, shape, list(range(num_classes)))
    return probabilities(rng, target, num_classes, dtype), target


def _certain(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Two rows say exactly 1: one for the target, one for another class."""
    preds, target = _data(name, dtype=dtype)
    preds[3] = np.eye(NUM_CLASSES)[target[3]]
    preds[9] = np.eye(NUM_CLASSES)[(target[9] + 1) % NUM_CLASSES]
    return preds, target


def _weights(name: str, shape: tuple[int, ...] = (ROWS,),
             dtype: str = "float32") -> np.ndarray:
    """Positive weights and a few zeros."""
    rng = seeded("MulticlassLogLoss", name, "weights")
    weights = np.round(rng.gamma(2.0, 1.0, shape), 2).astype(dtype)
    weights.reshape(-1)[::7] = 0.0
    return weights


def _probability_cases() -> list[Case]:
    given = {"input": "probabilities"}
    return [
        _case("mean", *_data("mean"), normalize=True, **given),
        _case("sum", *_data("sum"), normalize=False, **given),
        _case("float64", *_data("float64", dtype="float64"), **given),
        _case("two_classes", *_data("two_classes", num_classes=2), **given),
        _case("multidim", *_data("multidim", (ROWS, 3)), **given),
        _case("zero_probability", *_certain("zero32", "float32"), **given),
        _case("zero_probability_float64", *_certain("zero64", "float64"),
              **given),
    ]


def _weight_cases() -> list[Case]:
    given = {"input": "probabilities"}
    return [
        _case("weights", *_data("weights"), _weights("weights"), **given),
        _case("weights_sum", *_data("weights_sum"), _weights("weights_sum"),
              normalize=False, **given),
        _case("weights_float64", *_data("weights64", dtype="float64"),
              _weights("weights64", dtype="float64"), **given),
        _case("weights_multidim", *_data("weights_multidim", (ROWS, 2)),
              _weights("weights_multidim", (ROWS, 2)), **given),
    ]


def _ignore_cases() -> list[Case]:
    given = {"input": "probabilities"}

    def outside(name: str, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        preds, target = _data(name, shape)
        target.reshape(-1)[1::4] = -100
        return preds, target

    return [
        _case("ignore_inside", *_data("ignore_inside"), ignore_index=1,
              **given),
        _case("ignore_outside", *outside("ignore_outside", ROWS),
              ignore_index=-100, **given),
        _case("ignore_outside_sum", *outside("ignore_sum", ROWS),
              ignore_index=-100, normalize=False, **given),
        _case("ignore_weights", *outside("ignore_weights", ROWS),
              _weights("ignore_weights"), ignore_index=-100, **given),
        _case("ignore_multidim", *outside("ignore_multidim", ROWS, 3),
              ignore_index=-100, **given),
    ]


def _logit_cases() -> list[Case]:
    given = {"input": "logits"}

    def data(name: str, shape: tuple[int, ...] = (ROWS,),
             dtype: str = "float32",
             scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        rng = seeded("MulticlassLogLoss", name)
        target = targets(rng, shape, list(range(NUM_CLASSES)))
        size = (shape[0], NUM_CLASSES, *shape[1:])
        return (scale * normal(rng, size, "float64")).astype(dtype), target

    ignored, target = data("logits_ignore")
    target[::6] = -1
    return [
        _case("logits", *data("logits"), **given),
        _case("logits_sum", *data("logits_sum"), normalize=False, **given),
        _case("logits_float64", *data("logits64", dtype="float64"), **given),
        _case("logits_large", *data("logits_large", scale=200.0), **given),
        _case("logits_multidim", *data("logits_multidim", (ROWS, 2, 2)),
              **given),
        _case("logits_weights", *data("logits_weights"),
              _weights("logits_weights"), **given),
        _case("logits_ignore", ignored, target, ignore_index=-1, **given),
    ]
