"""MeanSquaredError and PearsonCorrCoef."""

import numpy as np
from scipy import stats
from sklearn.metrics import mean_squared_error, root_mean_squared_error

from .fixture import Case, Fixture
from .sampling import ROWS, SIZES, normal, seeded, split

MSE = "sklearn.metrics.mean_squared_error, inputs widened to float64"
RMSE = "sklearn.metrics.root_mean_squared_error, inputs widened to float64"
PEARSON = "scipy.stats.pearsonr, inputs widened to float64"
UNDEFINED = "by definition: no variance, hence NaN"


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_mean_squared_error(), _pearson()]


def pair(rng: np.random.Generator, shape: tuple[int, ...],
         dtype: str = "float32",
         offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and a target that follows them with noise."""
    preds = normal(rng, shape, "float64")
    target = 0.7 * preds + 0.5 * normal(rng, shape, "float64")
    return (preds + offset).astype(dtype), \
        (np.round(target, 3) + offset).astype(dtype)


def weights(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Positive weights, and a zero."""
    drawn = np.round(rng.gamma(2.0, 1.0, shape), 2).astype("float32")
    drawn.reshape(-1)[3] = 0
    return drawn


def _mse_case(name: str, preds: np.ndarray, target: np.ndarray,
              weight: np.ndarray | None = None, **options) -> Case:
    """A case of MeanSquaredError; outputs are columns, else all is flat."""
    outputs = options.get("num_outputs", 1)
    wide = [x.astype("float64") for x in (preds, target)]
    columns = [x.reshape(-1, outputs) for x in wide]
    squared = options.get("squared", True)
    function = mean_squared_error if squared else root_mean_squared_error
    given = () if weight is None else (weight,)
    flat = None if weight is None else weight.reshape(-1)
    values = function(columns[1], columns[0], multioutput="raw_values",
                      sample_weight=flat)
    expected = values if outputs > 1 else values[0]
    return Case(name, options, split(preds, target, *given), expected,
                MSE if squared else RMSE)


def _mean_squared_error() -> Fixture:
    def rng(name: str) -> np.random.Generator:
        return seeded("MeanSquaredError", name)

    def integers(name: str, low: int, high: int,
                 dtype: str) -> tuple[np.ndarray, np.ndarray]:
        drawn = rng(name).integers(low, high, (2, ROWS)).astype(dtype)
        return drawn[0], drawn[1]

    large = np.round(1e6 * rng("large").random((2, ROWS))).astype("float32")
    cases = [
        _mse_case("plain", *pair(rng("plain"), (ROWS,))),
        _mse_case("root", *pair(rng("root"), (ROWS,)), squared=False),
        _mse_case("float64", *pair(rng("float64"), (ROWS,), "float64")),
        _mse_case("multidim", *pair(rng("multidim"), (ROWS, 2, 3))),
        _mse_case("outputs", *pair(rng("outputs"), (ROWS, 3)),
                  num_outputs=3),
        _mse_case("outputs_root", *pair(rng("outputs_root"), (ROWS, 3)),
                  num_outputs=3, squared=False),
        _mse_case("int64", *integers("int64", -30, 30, "int64")),
        _mse_case("int32_root", *integers("int32", -30, 30, "int32"),
                  squared=False),
        _mse_case("uint8", *integers("uint8", 0, 256, "uint8")),
        _mse_case("int8", *integers("int8", -128, 128, "int8")),
        _mse_case("offset_1e4", *pair(rng("offset"), (ROWS,), offset=1e4)),
        _mse_case("large", large[0], large[1]),
        _mse_case("equal", *[pair(rng("equal"), (ROWS,))[0]] * 2),
        _mse_case("weight", *pair(rng("weight"), (ROWS,)),
                  weights(rng("weight/w"), ROWS)),
        _mse_case("weight_multidim", *pair(rng("weight_md"), (ROWS, 2)),
                  weights(rng("weight_md/w"), ROWS, 2)),
        _mse_case("weight_outputs_root", *pair(rng("weight_out"), (ROWS, 3)),
                  weights(rng("weight_out/w"), ROWS), num_outputs=3,
                  squared=False),
    ]
    return Fixture("MeanSquaredError", "scikit-learn 1.9.1", cases)


def pearson(preds: np.ndarray, target: np.ndarray,
            weight: np.ndarray | None = None) -> float:
    """Pearson's r; NaN for fewer than two samples or without variance."""
    wide = [x.astype("float64") for x in (preds, target)]
    if len(preds) < 2 or any(np.ptp(x) == 0 for x in wide):
        return np.nan
    if weight is not None:
        cov = np.cov(*wide, aweights=weight.astype("float64"))
        return cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    return stats.pearsonr(*wide).statistic


def _pearson_case(name: str, preds: np.ndarray, target: np.ndarray,
                  sizes: tuple[int, ...] | None = None,
                  weight: np.ndarray | None = None, **options) -> Case:
    """A case of PearsonCorrCoef, [N] or [N, num_outputs]."""
    given = () if weight is None else (weight,)
    batches = split(preds, target, *given, sizes=sizes or SIZES)
    outputs = [x.reshape(len(x), -1).T for x in (preds, target)]
    values = np.array([pearson(p, t, weight)
                       for p, t in zip(*outputs, strict=True)])
    source = UNDEFINED if np.isnan(values).all() else PEARSON
    if weight is not None:
        source = "numpy.cov with aweights"
    if np.isnan(values).any() and not np.isnan(values).all():
        source += "; NaN for the output without variance"
    expected = values if preds.ndim > 1 else values[0]
    return Case(name, options, batches, expected, source)


def _pearson() -> Fixture:
    def rng(name: str) -> np.random.Generator:
        return seeded("PearsonCorrCoef", name)

    plain = pair(rng("plain"), (ROWS,))
    two = pair(rng("one_constant_output"), (ROWS, 2))
    two[1][:, 1] = 0.25
    linear = normal(rng("linear"), (ROWS,), "float64")
    steps = np.arange(ROWS).astype("float32")
    constant = np.full(ROWS, 0.1, "float32")
    cases = [
        _pearson_case("plain", *plain),
        _pearson_case("negative", plain[0], -plain[1]),
        _pearson_case("float64", *pair(rng("float64"), (ROWS,), "float64")),
        _pearson_case("outputs", *pair(rng("outputs"), (ROWS, 2)),
                      num_outputs=2),
        _pearson_case("offset_1e4", *pair(rng("offset"), (ROWS,),
                                          offset=1e4)),
        _pearson_case("offset_1e4_outputs",
                      *pair(rng("offset_outputs"), (ROWS, 2), offset=1e4),
                      num_outputs=2),
        _pearson_case("offset_1e6_float64",
                      *pair(rng("offset64"), (ROWS,), "float64", 1e6)),
        _pearson_case("tiny", 1e-6 * plain[0], 1e-6 * plain[1]),
        _pearson_case("linear", linear, 3 * linear + 2),
        _pearson_case("separate_ranges", steps,
                      (steps // 6 * 100 - steps).astype("float32")),
        _pearson_case("one_row_batches", *pair(rng("rows"), (ROWS,)),
                      sizes=(1,) * ROWS),
        _pearson_case("constant_target", plain[0], constant),
        _pearson_case("constant_preds", constant, plain[1]),
        _pearson_case("constant_float64", linear, np.full(ROWS, 0.1)),
        _pearson_case("one_constant_output", *two, num_outputs=2),
        _pearson_case("single_sample", plain[0][:1], plain[1][:1],
                      sizes=(0, 1)),
        _pearson_case("two_samples", plain[0][:2], plain[1][:2],
                      sizes=(1, 1)),
        _pearson_case("weight", *pair(rng("weight"), (ROWS,)),
                      weight=weights(rng("weight/w"), ROWS)),
        _pearson_case("weight_outputs",
                      *pair(rng("weight_out"), (ROWS, 2), offset=1e4),
                      weight=weights(rng("weight_out/w"), ROWS),
                      num_outputs=2),
    ]
    return Fixture("PearsonCorrCoef", "SciPy 1.17.1", cases)
