"""Averages of errors, largest and median ones, and what is made of them."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import minkowski
from sklearn import metrics

from .fixture import Case, Fixture
from .regression import pair, weights
from .sampling import ROWS, normal, seeded, split

SCIKIT = "scikit-learn 1.9.1"
WIDE = ", inputs widened to float64"
TM_EPSILON = 1.17e-6  # of TorchMetrics
SK_EPSILON = float(np.finfo(np.float64).eps)  # of scikit-learn

# Of target, preds and weight (or None), all flat and float64.
Reference = Callable[..., float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [
        _mean_absolute_error(), _log_cosh(), _mean_squared_log_error(),
        _mape(), _smape(), _wmape(), _minkowski(), _pinball(), _tweedie(),
        _d2_tweedie(), _max_error(), _median_absolute_error(), _d2_pinball(),
        _d2_absolute_error(),
    ]


def error_case(name: str, inputs: tuple[np.ndarray, ...],
               reference: Reference, source: str,
               sizes: tuple[int, ...] | None = None,
               **options) -> Case:
    """A case of one value, or of one for each of num_outputs columns."""
    batches = split(*inputs, sizes=sizes) if sizes else split(*inputs)
    outputs = options.get("num_outputs", 1)
    target, preds, weight = (inputs[1], inputs[0],
                             inputs[2] if len(inputs) > 2 else None)
    if weight is not None:
        weight = weight.astype("float64").reshape(-1)
    columns = [x.astype("float64").reshape(-1, outputs).T
               for x in (target, preds)]
    values = np.array([reference(t, p, weight)
                       for t, p in zip(*columns, strict=True)])
    return Case(name, options, batches, values if outputs > 1 else values[0],
                source)


def usual_cases(metric: str, reference: Reference, source: str,
                outputs: bool = True, positive: bool = False,
                **options) -> list[Case]:
    """The cases that every average of errors has."""
    def rng(name: str) -> np.random.Generator:
        return seeded(metric, name)

    def inputs(name: str, *shape: int,
               dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
        preds, target = pair(rng(name), shape, dtype)
        if positive:
            return (np.round(np.exp(preds), 3).astype(dtype),
                    np.round(np.exp(target), 3).astype(dtype))
        return preds, target

    low = 1 if positive else -30
    integers = rng("int64").integers(low, 60, (2, ROWS))
    small = rng("uint8").integers(1, 256, (2, ROWS)).astype("uint8")
    cases = [
        error_case("plain", inputs("plain", ROWS), reference, source,
                   **options),
        error_case("float64", inputs("float64", ROWS, dtype="float64"),
                   reference, source, **options),
        error_case("multidim", inputs("multidim", ROWS, 2), reference, source,
                   **options),
        error_case("int64", tuple(integers), reference, source, **options),
        error_case("uint8", tuple(small), reference, source, **options),
        error_case("weight", (*inputs("weight", ROWS),
                              weights(rng("weight/w"), ROWS)),
                   reference, source, **options),
        error_case("weight_multidim", (*inputs("weight_md", ROWS, 2),
                                       weights(rng("weight_md/w"), ROWS, 2)),
                   reference, source, **options),
        error_case("equal", inputs("equal", ROWS)[:1] * 2, reference, source,
                   **options),
    ]
    if outputs:
        cases += [
            error_case("outputs", inputs("outputs", ROWS, 3), reference,
                       source, num_outputs=3, **options),
            error_case("weight_outputs",
                       (*inputs("weight_outputs", ROWS, 3),
                        weights(rng("weight_outputs/w"), ROWS)),
                       reference, source, num_outputs=3, **options),
        ]
    return cases


def _mean(errors: np.ndarray, weight: np.ndarray | None) -> float:
    return np.average(errors, weights=weight)


def _mean_absolute_error() -> Fixture:
    return Fixture("MeanAbsoluteError", SCIKIT, usual_cases(
        "MeanAbsoluteError",
        lambda t, p, w: metrics.mean_absolute_error(t, p, sample_weight=w),
        "sklearn.metrics.mean_absolute_error" + WIDE))


def _log_cosh() -> Fixture:
    def reference(t, p, w):
        return _mean(np.logaddexp(t - p, p - t) - np.log(2), w)

    source = "NumPy: the mean of logaddexp(e, -e) - log(2)" + WIDE
    preds, target = pair(seeded("LogCoshError", "large"), (ROWS,))
    cases = usual_cases("LogCoshError", reference, source) + [
        error_case("large", (1e3 * preds, 1e3 * target), reference, source),
        error_case("small", (1e-2 * preds, 1e-2 * target), reference, source),
    ]
    return Fixture("LogCoshError", "NumPy", cases)


def _mean_squared_log_error() -> Fixture:
    def squared(t, p, w):
        return metrics.mean_squared_log_error(t, p, sample_weight=w)

    def root(t, p, w):
        return metrics.root_mean_squared_log_error(t, p, sample_weight=w)

    name = "MeanSquaredLogError"
    source = "sklearn.metrics.mean_squared_log_error" + WIDE
    preds, target = pair(seeded(name, "root"), (ROWS,))
    near = tuple(np.round(np.exp(x) - 0.99, 3).astype("float32")
                 for x in (preds, target))
    cases = usual_cases(name, squared, source, positive=True) + [
        error_case("root", (np.exp(preds), np.exp(target)), root,
                   "sklearn.metrics.root_mean_squared_log_error" + WIDE,
                   squared=False),
        error_case("down_to_minus_one", near, squared, source),
    ]
    return Fixture(name, SCIKIT, cases)


def _mape() -> Fixture:
    def own(t, p, w):
        return _mean(np.abs(p - t) / np.maximum(np.abs(t), TM_EPSILON), w)

    def scikit(t, p, w):
        return metrics.mean_absolute_percentage_error(t, p, sample_weight=w)

    name = "MeanAbsolutePercentageError"
    preds, target = pair(seeded(name, "zeros"), (ROWS,))
    target[::5] = 0
    source = "sklearn.metrics.mean_absolute_percentage_error" + WIDE
    cases = usual_cases(name, scikit, source, positive=True) + [
        error_case("signs", pair(seeded(name, "signs"), (ROWS,), "float64"),
                   scikit, source),
        error_case("zero_targets", (preds, target), own,
                   "NumPy, with TorchMetrics' epsilon" + WIDE),
        error_case("zero_targets_scikit_epsilon", (preds, target), scikit,
                   source, eps=SK_EPSILON),
    ]
    return Fixture(name, SCIKIT, cases)


def _smape() -> Fixture:
    def reference(t, p, w):
        return _mean(2 * np.abs(p - t)
                     / np.maximum(np.abs(t) + np.abs(p), TM_EPSILON), w)

    name = "SymmetricMeanAbsolutePercentageError"
    preds, target = pair(seeded(name, "zeros"), (ROWS,))
    preds[::3] = target[::6] = 0
    source = "NumPy: the mean of 2 |e| / max(|t| + |p|, 1.17e-6)" + WIDE
    cases = usual_cases(name, reference, source) + [
        error_case("zeros", (preds, target), reference, source),
    ]
    return Fixture(name, "NumPy", cases)


def _wmape() -> Fixture:
    def reference(t, p, w):
        w = np.ones(len(t)) if w is None else w
        return np.sum(w * np.abs(p - t)) / max(np.sum(w * np.abs(t)),
                                               TM_EPSILON)

    name = "WeightedMeanAbsolutePercentageError"
    source = "NumPy: sum(w |e|) / max(sum(w |t|), 1.17e-6)" + WIDE
    preds = normal(seeded(name, "zeros"), (ROWS,))
    cases = usual_cases(name, reference, source, outputs=False) + [
        error_case("zero_targets", (preds, 0 * preds), reference, source),
    ]
    return Fixture(name, "NumPy", cases)


def _minkowski() -> Fixture:
    name = "MinkowskiDistance"
    source = "scipy.spatial.distance.minkowski" + WIDE

    def of_power(power: float) -> Reference:
        return lambda t, p, w: minkowski(t, p, power, w)

    cases = usual_cases(name, of_power(3), source, outputs=False, p=3)
    for power in (1, 1.5, 2, 7):
        label = f"p_{power}".replace(".", "_")
        cases.append(error_case(label, pair(seeded(name, label), (ROWS,)),
                                of_power(power), source, p=power))
    return Fixture(name, "SciPy 1.17.1", cases)


def _pinball() -> Fixture:
    name = "MeanPinballLoss"
    source = "sklearn.metrics.mean_pinball_loss" + WIDE

    def of_alpha(alpha: float) -> Reference:
        return lambda t, p, w: metrics.mean_pinball_loss(
            t, p, sample_weight=w, alpha=alpha)

    cases = usual_cases(name, of_alpha(0.9), source, alpha=0.9)
    for alpha in (0, 0.25, 0.5, 1):
        label = f"alpha_{alpha}".replace(".", "_")
        cases.append(error_case(label, pair(seeded(name, label), (ROWS,)),
                                of_alpha(alpha), source, alpha=alpha))
    return Fixture(name, SCIKIT, cases)


def _positive(name: str, label: str, dtype: str = "float32",
              ) -> tuple[np.ndarray, np.ndarray]:
    preds, target = pair(seeded(name, label), (ROWS,), dtype)
    return (np.round(np.exp(preds), 3).astype(dtype),
            np.round(np.exp(target), 3).astype(dtype))


def _power_cases(name: str, of_power: Callable[[float], Reference],
                 source: str) -> list[Case]:
    cases = []
    for power in (-1.5, 0, 1, 1.5, 2, 3, 3.5):
        label = f"power_{power}".replace(".", "_").replace("-", "minus_")
        preds, target = _positive(name, label)
        if power < 0:
            target -= 2
        elif 1 <= power < 2:
            target[::6] = 0
        cases.append(error_case(label, (preds, target), of_power(power),
                                source, power=power))
    for power in (0, 1, 2):
        label = f"weight_power_{power}"
        cases.append(error_case(
            label, (*_positive(name, label, "float64"),
                    weights(seeded(name, label, "w"), ROWS)),
            of_power(power), source, power=power))
    counts = seeded(name, "counts").poisson(3, ROWS)
    cases.append(error_case("counts", (_positive(name, "counts")[0], counts),
                            of_power(1), source, power=1))
    return cases


def _tweedie() -> Fixture:
    name = "TweedieDevianceScore"

    def of_power(power: float) -> Reference:
        return lambda t, p, w: metrics.mean_tweedie_deviance(
            t, p, sample_weight=w, power=power)

    source = "sklearn.metrics.mean_tweedie_deviance" + WIDE
    cases = usual_cases(name, of_power(0), source, outputs=False)
    return Fixture(name, SCIKIT, cases + _power_cases(name, of_power, source))


def _d2_tweedie() -> Fixture:
    name = "D2TweedieScore"

    def of_power(power: float) -> Reference:
        return lambda t, p, w: metrics.d2_tweedie_score(
            t, p, sample_weight=w, power=power)

    source = "sklearn.metrics.d2_tweedie_score" + WIDE
    preds, target = _positive(name, "offset")
    constant = np.full(ROWS, 0.1, "float32")
    cases = _power_cases(name, of_power, source) + [
        error_case("offset", (20 + preds, 20 + target), of_power(1),
                   source, power=1),
        error_case("constant_target", (preds, constant),
                   lambda t, p, w: 0.0, "by definition, as in r2_score",
                   power=3),
        error_case("constant_equal", (constant, constant),
                   lambda t, p, w: 1.0, "by definition, as in r2_score",
                   power=1),
        error_case("single_sample", (preds[:1], target[:1]),
                   lambda t, p, w: np.nan, "by definition", sizes=(0, 1)),
    ]
    return Fixture(name, SCIKIT, cases)


def _max_error() -> Fixture:
    name = "MaxError"
    source = "sklearn.metrics.max_error" + WIDE

    def reference(t, p, w):
        return metrics.max_error(t, p)

    cases = [case for case in usual_cases(name, reference, source,
                                          outputs=False)
             if not case.name.startswith("weight")]
    return Fixture(name, SCIKIT, cases)


def _median_absolute_error() -> Fixture:
    name = "MedianAbsoluteError"
    source = "sklearn.metrics.median_absolute_error" + WIDE

    def reference(t, p, w):
        return metrics.median_absolute_error(t, p, sample_weight=w)

    odd = pair(seeded(name, "odd"), (ROWS - 1,))
    tied = seeded(name, "tied").integers(0, 3, (2, ROWS)).astype("float32")
    halves = np.array([1, 0, 2, 1] * (ROWS // 4), "float32")
    cases = usual_cases(name, reference, source) + [
        error_case("odd", odd, reference, source, sizes=(7, 1, 0, 12, 3)),
        error_case("tied", tuple(tied), reference, source),
        error_case("weight_exactly_half",
                   (np.arange(ROWS).astype("float32"),
                    np.zeros(ROWS, "float32"), halves), reference, source),
    ]
    return Fixture(name, SCIKIT, cases)


def _d2_cases(name: str, reference: Reference, source: str,
              **options) -> list[Case]:
    preds, target = pair(seeded(name, "constant"), (ROWS,))
    constant = np.full(ROWS, 0.1, "float32")
    cases = usual_cases(name, reference, source, **options)
    return [case for case in cases if "multidim" not in case.name] + [
        error_case("constant_target", (preds, constant), reference, source,
                   **options),
        error_case("single_sample", (preds[:1], target[:1]),
                   lambda t, p, w: np.nan, "by definition", sizes=(0, 1),
                   **options),
    ]


def _d2_pinball() -> Fixture:
    name = "D2PinballScore"
    source = "sklearn.metrics.d2_pinball_score" + WIDE

    def of_alpha(alpha: float) -> Reference:
        return lambda t, p, w: metrics.d2_pinball_score(
            t, p, sample_weight=w, alpha=alpha)

    cases = _d2_cases(name, of_alpha(0.9), source, alpha=0.9)
    for alpha in (0, 0.25, 1):
        label = f"alpha_{alpha}".replace(".", "_")
        cases.append(error_case(label, pair(seeded(name, label), (ROWS,)),
                                of_alpha(alpha), source, alpha=alpha))
    return Fixture(name, SCIKIT, cases)


def _d2_absolute_error() -> Fixture:
    name = "D2AbsoluteErrorScore"
    return Fixture(name, SCIKIT, _d2_cases(
        name,
        lambda t, p, w: metrics.d2_absolute_error_score(t, p,
                                                        sample_weight=w),
        "sklearn.metrics.d2_absolute_error_score" + WIDE))
