"""Metrics of means, variances and squared errors."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import explained_variance_score, r2_score

from .fixture import Case, Fixture
from .regression import UNDEFINED, pair, weights
from .sampling import ROWS, SIZES, normal, seeded, split

SCIKIT = "scikit-learn 1.9.1"
WIDE = ", inputs widened to float64"

# Of target, preds and weight (or None), [N, num_outputs] in float64.
Reference = Callable[..., np.ndarray | float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_r2(), _explained_variance(), _relative_squared_error(),
            _concordance(), _nrmse()]


def _case(name: str, inputs: tuple[np.ndarray, ...], reference: Reference,
          source: str, sizes: tuple[int, ...] = SIZES, **options) -> Case:
    target, preds = (x.astype("float64").reshape(len(x), -1)
                     for x in (inputs[1], inputs[0]))
    weight = inputs[2].astype("float64") if len(inputs) > 2 else None
    if target.shape[1] > 1:
        options["num_outputs"] = target.shape[1]
    expected = reference(target, preds, weight)
    if len(target) < 2 and np.isnan(expected).all():
        source = UNDEFINED
    return Case(name, options, split(*inputs, sizes=sizes), expected, source)


def _usual_cases(metric: str, reference: Reference, source: str,
                 **options) -> list[Case]:
    def rng(name: str) -> np.random.Generator:
        return seeded(metric, name)

    def case(name: str, *shape: int, dtype: str = "float32",
             offset: float = 0.0, scale: float = 1.0) -> Case:
        preds, target = pair(rng(name), shape, dtype)
        return _case(name, ((scale * preds + offset).astype(dtype),
                            (scale * target + offset).astype(dtype)),
                     reference, source, **options)

    plain = pair(rng("plain"), (ROWS,))
    integers = rng("int64").integers(-30, 30, (2, ROWS))
    return [
        case("plain", ROWS), case("float64", ROWS, dtype="float64"),
        case("column", ROWS, 1), case("outputs", ROWS, 3),
        case("offset_1e4", ROWS, offset=1e4),
        case("offset_1e4_outputs", ROWS, 2, offset=1e4),
        case("scale_1e_minus_3", ROWS, scale=1e-3),
        _case("int64", tuple(integers), reference, source, **options),
        _case("one_row_batches", plain, reference, source, sizes=(1,) * ROWS,
              **options),
        _case("weight", (*plain, weights(rng("weight"), ROWS)), reference,
              source, **options),
        _case("weight_outputs",
              (*pair(rng("weight_outputs"), (ROWS, 2), offset=1e4),
               weights(rng("weight_outputs/w"), ROWS)), reference, source,
              **options),
        _case("single_sample", tuple(x[:1] for x in plain), reference, source,
              sizes=(0, 1), **options),
    ]


def _constant_cases(metric: str, reference: Reference, source: str,
                    **options) -> list[Case]:
    """Where there is no variance; 0.1 has no exact mean."""
    plain = normal(seeded(metric, "constant"), (ROWS,))
    constant = np.full(ROWS, 0.1, "float32")
    mixed = pair(seeded(metric, "constant_output"), (ROWS, 2))
    mixed[1][:, 0] = 0.1
    return [
        _case("constant_target", (plain, constant), reference, source,
              **options),
        _case("constant_preds", (constant, plain), reference, source,
              **options),
        _case("constant_equal", (constant, constant), reference, source,
              **options),
        _case("one_constant_output", mixed, reference, source, **options),
        _case("equal", (plain, plain), reference, source, **options),
    ]


def _scores(function: Callable, multioutput: str, adjusted: int = 0,
            ) -> Reference:
    def reference(target, preds, weight):
        if len(target) < 2:
            return np.nan
        value = function(target, preds, sample_weight=weight,
                         multioutput=multioutput)
        n = len(target)
        return 1 - (1 - value) * (n - 1) / (n - adjusted - 1) \
            if adjusted else value
    return reference


def _score_fixture(name: str, function: Callable) -> list[Case]:
    source = f"sklearn.metrics.{function.__name__}" + WIDE
    mean = _shifted(_scores(function, "uniform_average"))
    raw = _shifted(_scores(function, "raw_values"))
    varied = _shifted(_scores(function, "variance_weighted"))
    cases = _usual_cases(name, mean, source) \
        + _constant_cases(name, mean, source)
    three = pair(seeded(name, "raw_values"), (ROWS, 3))
    mixed = pair(seeded(name, "variance_weighted"), (ROWS, 3))
    mixed[1][:, 1] = 0.25
    constant = (mixed[0], np.full((ROWS, 3), 0.25, "float32"))
    return cases + [
        _case("raw_values", three, raw, source, multioutput="raw_values"),
        _case("variance_weighted", three, varied, source,
              multioutput="variance_weighted"),
        _case("variance_weighted_constant_output", mixed, varied, source,
              multioutput="variance_weighted"),
        _case("variance_weighted_constant", constant, varied, source,
              multioutput="variance_weighted"),
        _case("weight_variance_weighted",
              (*three, weights(seeded(name, "vw/w"), ROWS)), varied, source,
              multioutput="variance_weighted"),
    ]


def _shifted(reference: Reference) -> Reference:
    """Shifts both by the first target, so that a constant has no variance:
    NumPy's mean of 0.1s is not 0.1."""
    return lambda target, preds, weight: reference(
        target - target[0], preds - target[0], weight)


def _r2() -> Fixture:
    name = "R2Score"
    cases = _score_fixture(name, r2_score)
    source = "sklearn.metrics.r2_score, adjusted" + WIDE
    for adjusted in (1, 5):
        cases.append(_case(
            f"adjusted_{adjusted}",
            pair(seeded(name, f"adjusted_{adjusted}"), (ROWS,)),
            _shifted(_scores(r2_score, "uniform_average", adjusted)), source,
            adjusted=adjusted))
    cases.append(_case(
        "adjusted_raw", pair(seeded(name, "adjusted_raw"), (ROWS, 2)),
        _shifted(_scores(r2_score, "raw_values", 3)), source,
        adjusted=3, multioutput="raw_values"))
    return Fixture(name, SCIKIT, cases)


def _explained_variance() -> Fixture:
    name = "ExplainedVariance"
    return Fixture(name, SCIKIT, _score_fixture(name,
                                                explained_variance_score))


def _relative_squared_error() -> Fixture:
    def of_outputs(target, preds, weight):
        if len(target) < 2:
            return np.full(target.shape[1], np.nan)
        return 1 - r2_score(target, preds, sample_weight=weight,
                            multioutput="raw_values")

    def squared(target, preds, weight):
        return np.mean(of_outputs(target, preds, weight))

    def root(target, preds, weight):
        return np.mean(np.sqrt(of_outputs(target, preds, weight)))

    name = "RelativeSquaredError"
    source = "1 - sklearn.metrics.r2_score, averaged" + WIDE
    cases = _usual_cases(name, squared, source) + [
        _case("root", pair(seeded(name, "root"), (ROWS,)), root, source,
              squared=False),
        _case("outputs_root", pair(seeded(name, "outputs_root"), (ROWS, 3)),
              root, source, squared=False),
    ]
    return Fixture(name, SCIKIT, cases)


def _concordance() -> Fixture:
    def of_output(t, p, w):
        if len(t) < 2:
            return np.nan
        w = np.ones(len(t)) if w is None else w
        n = len(t)
        mean_t, mean_p = np.average(t, weights=w), np.average(p, weights=w)
        t, p = t - mean_t, p - mean_p
        cov = np.average(np.stack([t * t, p * p, t * p]), axis=1, weights=w)
        cov *= n / (n - 1)
        return 2 * cov[2] / (cov[0] + cov[1] + (mean_t - mean_p) ** 2)

    def reference(target, preds, weight):
        values = np.array([of_output(t, p, weight)
                           for t, p in zip(target.T, preds.T, strict=True)])
        return values if len(values) > 1 else values[0]

    name = "ConcordanceCorrCoef"
    source = "NumPy, by definition, unbiased variances" + WIDE
    preds, target = pair(seeded(name, "bias"), (ROWS,))
    constant = np.full(ROWS, 0.25, "float32")
    cases = _usual_cases(name, reference, source) + [
        _case("bias", (preds + 2, target), reference, source),
        _case("negative", (-preds, target), reference, source),
        _case("equal", (preds, preds), reference, source),
        _case("constant_preds", (constant, target), reference, source),
        _case("constant_equal", (constant, constant), lambda *_: np.nan,
              "by definition"),
    ]
    return Fixture(name, "NumPy", cases)


def _nrmse() -> Fixture:
    norms = {
        "mean": lambda t, w: np.abs(np.average(t, weights=w)),
        "range": lambda t, w: np.ptp(t),
        "std": lambda t, w: np.sqrt(np.average(
            (t - np.average(t, weights=w)) ** 2, weights=w)),
        "l2": lambda t, w: np.sqrt(np.sum(t * t if w is None else w * t * t)),
    }

    def of(kind: str) -> Reference:
        def reference(target, preds, weight):
            values = np.array([
                np.sqrt(np.average((t - p) ** 2, weights=weight))
                / norms[kind](t, weight)
                for t, p in zip(target.T, preds.T, strict=True)])
            return values if len(values) > 1 else values[0]
        return reference

    name = "NormalizedRootMeanSquaredError"
    source = "NumPy, by definition" + WIDE
    cases = [case for case in _usual_cases(name, of("mean"), source)
             if case.name != "single_sample"]
    for kind in ("range", "std", "l2"):
        for label, shape in ((kind, (ROWS,)), (f"{kind}_outputs", (ROWS, 2))):
            inputs = pair(seeded(name, label), shape)
            cases.append(_case(label, inputs, of(kind), source,
                               normalization=kind))
        label = f"{kind}_weight"
        cases.append(_case(label, (*pair(seeded(name, label), (ROWS,)),
                                   weights(seeded(name, label, "w"), ROWS)),
                           of(kind), source, normalization=kind))
    return Fixture(name, "NumPy", cases)
