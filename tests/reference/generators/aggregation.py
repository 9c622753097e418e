"""SumMetric, MeanMetric, MinMetric, MaxMetric, CatMetric and Throughput."""

from collections.abc import Callable

import numpy as np

from .fixture import Batch, Case, Fixture, Options
from .sampling import ROWS, normal, seeded, split

SOURCE = "NumPy in float64, over the stored values"
SUM = "numpy.sum of the values in float64"
MEAN = "sum(weight * value) / sum(weight) in float64"
CAT = "numpy.concatenate along dimension 0"
Reduce = Callable[[list[Batch], Options], np.ndarray | float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_sum(), _mean(), _extreme("MinMetric", np.min),
            _extreme("MaxMetric", np.max), _cat(), _throughput()]


def handle_nan(value: np.ndarray, options: Options) -> np.ndarray:
    """A flat batch after nan_strategy has been applied."""
    strategy = options.get("nan_strategy", "warn")
    if strategy == "replace":
        return np.where(np.isnan(value), options["nan_value"], value)
    if strategy in ("warn", "ignore"):
        return value[~np.isnan(value)]
    return value


def _flat(batches: list[Batch], options: Options) -> np.ndarray:
    """The first inputs of all batches, flat, in float64, NaN handled."""
    flat = [b[0].astype("float64").reshape(-1) for b in batches]
    return handle_nan(np.concatenate(flat), options)


def _case(name: str, batches: list[Batch], reduce: Reduce, source: str,
          row_split: bool = True, **options) -> Case:
    """A case whose expected value is reduce(batches, options)."""
    return Case(name, options, batches, reduce(batches, options), source,
                row_split=row_split)


def _with_nan(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal float32 values of which each sixth is NaN."""
    value = normal(rng, shape)
    value.reshape(-1)[::6] = np.nan
    return value


def _cancelling() -> np.ndarray:
    """float32 ones and 1e8s that cancel: a float32 sum loses the ones."""
    value = np.ones(ROWS, "float32")
    value[[0, 5, 9]] = 1e8
    value[[8, 15, 20]] = -1e8
    return value


def _scalars(rng: np.random.Generator, count: int) -> list[Batch]:
    """Batches of one 0-dim value each."""
    return [(x,) for x in map(np.asarray, normal(rng, (count,)))]


def _nan_cases(metric: str, reduce: Reduce, source: str) -> list[Case]:
    """The NaN strategies on values alone."""
    settings: dict[str, Options] = {
        "nan_warn": {"nan_strategy": "warn"},
        "nan_ignore": {"nan_strategy": "ignore"},
        "nan_replace": {"nan_strategy": "replace", "nan_value": 0.5},
        "nan_disable": {"nan_strategy": "disable"},
    }
    cases = []
    for name, options in settings.items():
        value = _with_nan(seeded(metric, name), (ROWS,))
        cases.append(_case(name, split(value), reduce, source, **options))
    return cases


def _plain_cases(metric: str, reduce: Reduce, source: str) -> list[Case]:
    """Shapes and dtypes without NaN."""
    def rng(name: str) -> np.random.Generator:
        return seeded(metric, name)

    integers = rng("integers").integers(-50, 50, ROWS)
    small = rng("uint8").integers(150, 256, ROWS).astype("uint8")
    cubes = normal(rng("multidim"), (ROWS, 2, 3))
    return [
        _case("plain", split(normal(rng("plain"), (ROWS,))), reduce, source),
        _case("float64", split(normal(rng("float64"), (ROWS,), "float64")),
              reduce, source),
        _case("multidim", split(cubes), reduce, source),
        _case("integers", split(integers), reduce, source),
        _case("uint8", split(small), reduce, source),
        _case("scalars", _scalars(rng("scalars"), 21), reduce, source,
              row_split=False),
        _case("nan_error_without_nan",
              split(normal(rng("nan_error"), (ROWS,))), reduce, source,
              nan_strategy="error"),
    ]


def _sum() -> Fixture:
    def total(batches: list[Batch], options: Options) -> np.ndarray:
        return np.sum(_flat(batches, options))

    infinite = normal(seeded("SumMetric", "infinite"), (ROWS,))
    infinite[11] = np.inf
    large = (16777216 + np.arange(ROWS)).astype("int64")
    cases = _plain_cases("SumMetric", total, SUM) + [
        _case("cancellation", split(_cancelling()), total, SUM),
        _case("offset_1e8", split((1e8 + 8 * np.arange(ROWS))
                                  .astype("float32")), total, SUM),
        _case("large_integers", split(large), total, SUM),
        _case("infinite", split(infinite), total, SUM),
    ] + _nan_cases("SumMetric", total, SUM)
    return Fixture("SumMetric", SOURCE, cases)


def weighted_mean(batches: list[Batch], options: Options) -> float:
    """The mean; a value that is dropped takes its weight along."""
    values, weights = [], []
    for value, *rest in batches:
        weight = rest[0] if rest else np.ones(())
        weights.append(np.broadcast_to(weight, value.shape).reshape(-1))
        values.append(value.reshape(-1))
    value = np.concatenate(values).astype("float64")
    weight = np.concatenate(weights).astype("float64")
    if options.get("nan_strategy", "warn") in ("warn", "ignore"):
        keep = ~(np.isnan(value) | np.isnan(weight))
        value, weight = value[keep], weight[keep]
    value = handle_nan(value, options)
    return np.sum(weight * value) / np.sum(weight)


def _weight_cases() -> list[Case]:
    """Weights of the values' own shape, one per row."""
    def rng(name: str) -> np.random.Generator:
        return seeded("MeanMetric", name)

    def case(name: str, value: np.ndarray, weight: np.ndarray,
             **options) -> Case:
        return _case(name, split(value, weight), weighted_mean, MEAN,
                     **options)

    def weights(name: str, *shape: int) -> np.ndarray:
        return np.round(rng(name + "/w").gamma(2.0, 1.0, shape), 2)

    def value(name: str, *shape: int) -> np.ndarray:
        return normal(rng(name), shape)

    zeros = weights("zero_weights", ROWS).astype("float32")
    zeros[::3] = 0.0
    nan_weight = weights("nan_weight", ROWS).astype("float32")
    nan_weight[[3, 13]] = np.nan
    heavy = np.where(np.arange(ROWS) == 0, 2.0**24, 1.0).astype("float32")
    return [
        case("weights", value("weights", ROWS),
             weights("weights", ROWS).astype("float32")),
        case("weights_multidim", value("weights_multidim", ROWS, 3),
             weights("weights_multidim", ROWS, 3).astype("float32")),
        case("weights_column", value("weights_column", ROWS, 3),
             weights("weights_column", ROWS, 1).astype("float32")),
        case("integer_weights", value("integer_weights", ROWS),
             rng("integer_weights/w").integers(1, 9, ROWS)),
        case("zero_weights", value("zero_weights", ROWS), zeros),
        case("weights_2_to_24", 1 + np.abs(value("heavy", ROWS)), heavy),
        case("nan_ignore_drops_weight",
             _with_nan(rng("nan_ignore_drops_weight"), (ROWS,)),
             weights("nan_ignore_drops_weight", ROWS).astype("float32"),
             nan_strategy="ignore"),
        case("nan_weight_drops_value", value("nan_weight", ROWS), nan_weight,
             nan_strategy="ignore"),
        case("nan_replace_keeps_weight",
             _with_nan(rng("nan_replace_keeps_weight"), (ROWS,)),
             weights("nan_replace_keeps_weight", ROWS).astype("float32"),
             nan_strategy="replace", nan_value=-1.0),
        case("disable_keeps_weights", value("disable", ROWS),
             weights("disable", ROWS).astype("float32"),
             nan_strategy="disable"),
    ]


def _broadcast_cases() -> list[Case]:
    """Weights that broadcast over the rows of a batch."""
    def batches(name: str, shape: tuple[int, ...],
                weight_shape: tuple[int, ...]) -> list[Batch]:
        rng = seeded("MeanMetric", name)
        value = [v for v, in split(normal(rng, shape))]
        return [(v, np.round(rng.gamma(2.0, 1.0, weight_shape), 2)
                 .astype("float32")) for v in value]

    nan = batches("nan_ignore_broadcast", (ROWS, 2), ())
    for value, _ in nan:
        value.reshape(-1)[::4] = np.nan
    return [
        _case("weight_scalar", batches("weight_scalar", (ROWS,), ()),
              weighted_mean, MEAN, row_split=False),
        _case("weight_last_dimension",
              batches("weight_last_dimension", (ROWS, 3), (3,)),
              weighted_mean, MEAN, row_split=False),
        _case("nan_ignore_broadcast", nan, weighted_mean, MEAN,
              row_split=False, nan_strategy="ignore"),
    ]


def _mean() -> Fixture:
    cases = (
        _plain_cases("MeanMetric", weighted_mean, MEAN)
        + [_case("cancellation", split(_cancelling()), weighted_mean, MEAN)]
        + _weight_cases()
        + _broadcast_cases()
        + _nan_cases("MeanMetric", weighted_mean, MEAN)
    )
    return Fixture("MeanMetric", SOURCE, cases)


def _extreme(metric: str, function: Callable) -> Fixture:
    source = f"numpy.{function.__name__} of the values"

    def extreme(batches: list[Batch], options: Options) -> np.ndarray:
        return function(_flat(batches, options))

    infinite = normal(seeded(metric, "infinite"), (ROWS,))
    infinite[[2, 12]] = np.inf, -np.inf
    positive = 5 + np.abs(normal(seeded(metric, "positive"), (ROWS,)))
    cases = _plain_cases(metric, extreme, source) + [
        _case("positive", split(positive), extreme, source),
        _case("negative", split(-positive), extreme, source),
        _case("infinite", split(infinite), extreme, source),
    ] + _nan_cases(metric, extreme, source)
    return Fixture(metric, SOURCE, cases)


def _cat() -> Fixture:
    def concatenate(batches: list[Batch], options: Options) -> np.ndarray:
        value = np.concatenate([np.atleast_1d(v) for v, in batches])
        if np.isnan(value).any():
            value = handle_nan(value, options).astype(value.dtype)
        return value

    pairs = _with_nan(seeded("CatMetric", "nan_replace_rows"), (ROWS, 2))
    cases = _plain_cases("CatMetric", concatenate, CAT) + [
        _case("nan_replace_rows", split(pairs), concatenate, CAT,
              nan_strategy="replace", nan_value=9.0),
    ] + _nan_cases("CatMetric", concatenate, CAT)
    return Fixture("CatMetric", SOURCE, cases)


def _throughput() -> Fixture:
    def rates(batches: list[Batch], _: Options) -> dict[str, float]:
        items, seconds, rank = (
            np.concatenate([np.atleast_1d(batch[i]) for batch in batches])
            for i in range(3))
        slowest = max(seconds[rank == r].astype("float64").sum()
                      for r in np.unique(rank))
        count = float(items.astype("float64").sum())
        return {"items_per_second": count / slowest,
                "seconds_per_item": slowest / count,
                "items": count, "seconds": slowest}

    def case(name: str, ranks: int, dtype: str = "int64") -> Case:
        rng = seeded("Throughput", name)
        items = rng.integers(0, 65, ROWS).astype(dtype)
        seconds = (rng.integers(1, 257, ROWS) / 64).astype("float32")
        batches = split(items, seconds, rng.integers(0, ranks, ROWS))
        return _case(name, batches, rates, "by definition")

    return Fixture("Throughput", "NumPy", [
        case("one_rank", 1), case("three_ranks", 3),
        case("many_ranks", 20, "float32")])
