"""Scores of rows, of ensembles, and of events."""

from collections.abc import Callable

import numpy as np
from scipy import special
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from sklearn.metrics import jaccard_score
from sklearn.metrics.pairwise import cosine_similarity

from .fixture import Case, Fixture
from .regression import pair
from .sampling import ROWS, seeded, split

WIDE = ", inputs widened to float64"
REDUCTIONS = {"mean": np.mean, "sum": np.sum, "none": lambda scores: scores}


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_cosine(), _kl(), _jensen_shannon(), _crps(), _csi(), _mase(),
            _owa()]


def _case(name: str, inputs: tuple[np.ndarray, np.ndarray],
          scores: Callable, default: str, source: str, **options) -> Case:
    wide = [x.astype("float64") for x in inputs]
    reduce = REDUCTIONS[options.get("reduction", default)]
    return Case(name, options, split(*inputs), reduce(scores(*wide)), source)


def _cosine() -> Fixture:
    name = "CosineSimilarity"
    source = "sklearn.metrics.pairwise.cosine_similarity" + WIDE

    def scores(p, t):
        return cosine_similarity(p, t).diagonal()

    def case(label: str, inputs, **options) -> Case:
        return _case(label, inputs, scores, "sum", source, **options)

    def drawn(label: str, size: int, dtype: str = "float32"):
        return pair(seeded(name, label), (ROWS, size), dtype)

    integers = tuple(seeded(name, "int64").integers(-9, 10, (2, ROWS, 3)))
    zeros = drawn("zeros", 3)
    zeros[0][::5] = 0
    zeros[1][::7] = 0
    return Fixture(name, "scikit-learn 1.9.1", [
        case("sum", drawn("sum", 3)),
        case("mean", drawn("mean", 4), reduction="mean"),
        case("none", drawn("none", 4), reduction="none"),
        case("float64", drawn("float64", 2, "float64")),
        case("one_column", drawn("one_column", 1), reduction="none"),
        case("int64", integers), case("zeros", zeros, reduction="none"),
        case("large", tuple(1e6 * x for x in drawn("large", 3))),
    ])


def _distributions(name: str, label: str, size: int = 4,
                   dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
    drawn = np.round(seeded(name, label).dirichlet(np.ones(size), (2, ROWS)),
                     4) + 1e-3
    return tuple(drawn.astype(dtype))


def _divergence_cases(name: str, scores: Callable, source: str) -> list[Case]:
    def case(label: str, inputs, **options) -> Case:
        return _case(label, inputs, scores, "mean", source, **options)

    zeros = _distributions(name, "zeros")
    zeros[0][::3, 1] = 0
    counts = tuple(seeded(name, "int64").integers(1, 9, (2, ROWS, 3)))
    logs = tuple(np.log(x / x.sum(1, keepdims=True)).astype("float32")
                 for x in _distributions(name, "log_prob", 3, "float64"))

    def log_scores(p, q):
        # Rounded logarithms do not add up to 1, and are not normalised.
        p, q = np.exp(p), np.exp(q)
        if name == "KLDivergence":
            return special.rel_entr(p, q).sum(1)
        m = (p + q) / 2
        return (special.rel_entr(p, m) + special.rel_entr(q, m)).sum(1) / 2

    return [
        case("mean", _distributions(name, "mean")),
        case("sum", _distributions(name, "sum"), reduction="sum"),
        case("none", _distributions(name, "none"), reduction="none"),
        case("float64", _distributions(name, "float64", dtype="float64")),
        case("not_normalised",
             tuple(7 * x for x in _distributions(name, "not_normalised"))),
        case("int64", counts), case("zeros_in_p", zeros),
        case("equal", _distributions(name, "equal")[:1] * 2),
        _case("log_prob", logs, log_scores, "mean",
              "scipy.special.rel_entr of exp" + WIDE, log_prob=True),
        _case("log_prob_none", logs, log_scores, "mean",
              "scipy.special.rel_entr of exp" + WIDE, log_prob=True,
              reduction="none"),
    ]


def _kl() -> Fixture:
    name = "KLDivergence"
    source = "scipy.stats.entropy(p, q)" + WIDE

    def scores(p, q):
        return entropy(p, q, axis=1)

    infinite = _distributions(name, "infinite")
    infinite[1][3, 2] = 0
    return Fixture(name, "SciPy 1.17.1", [
        *_divergence_cases(name, scores, source),
        _case("zeros_in_q", infinite, scores, "mean", source,
              reduction="none"),
    ])


def _jensen_shannon() -> Fixture:
    name = "JensenShannonDivergence"
    source = "scipy.spatial.distance.jensenshannon, squared" + WIDE

    def scores(p, q):
        return jensenshannon(p, q, axis=1) ** 2

    disjoint = _distributions(name, "disjoint")
    disjoint[0][:, :2] = 0
    disjoint[1][:, 2:] = 0
    return Fixture(name, "SciPy 1.17.1", [
        *_divergence_cases(name, scores, source),
        _case("disjoint", disjoint, scores, "mean", source,
              reduction="none"),
    ])


def _crps() -> Fixture:
    name = "ContinuousRankedProbabilityScore"

    def score(p, t):
        spread = np.abs(p[:, :, None] - p[:, None, :]).mean((1, 2)) / 2
        return np.mean(np.abs(p - t[:, None]).mean(1) - spread)

    def case(label: str, members: int, dtype: str = "float32",
             offset: float = 0.0) -> Case:
        # Far enough from each other for numerical differences.
        drawn = np.stack([seeded(name, label, str(row)).permutation(80)
                          for row in range(ROWS)])[:, :members + 1]
        drawn = ((drawn - 40) / 16 + offset).astype(dtype)
        preds, target = drawn[:, 1:], drawn[:, 0]
        wide = preds.astype("float64"), target.astype("float64")
        return Case(label, {}, split(preds, target), score(*wide),
                    "NumPy: by definition, over all pairs of members")

    rng = seeded(name, "int64")
    preds, target = rng.integers(0, 9, (ROWS, 5)), rng.integers(0, 9, ROWS)
    return Fixture(name, "NumPy", [
        case("plain", 5), case("two_members", 2), case("one_member", 1),
        case("many_members", 30), case("float64", 4, "float64"),
        case("offset_1e4", 5, offset=1e4),
        Case("int64", {}, split(preds, target), score(preds, target),
             "NumPy: by definition, over all pairs of members"),
    ])


def _scale(train, season):
    return np.abs(train[:, season:] - train[:, :-season]).mean(1)


def _forecast_case(name: str, label: str, value, season: int = 1,
                   given: bool = False, inputs: int = 3,
                   dtype: str = "float32") -> Case:
    """Forecasts of 5 steps of ROWS series, of 30 steps before them."""
    rng = seeded(name, label)
    # Multiples of 1/16 far enough from each other for numerical differences.
    drawn = np.stack([rng.permutation(90) for _ in range(ROWS)]) / 16 - 63 / 32
    drawn = drawn[:, :5 * (inputs - 1) + 30].astype(dtype)
    preds, target, *more, train = np.split(
        drawn, [5 * i for i in range(1, inputs)], axis=1)
    wide = [each.astype("float64") for each in (preds, target, *more, train)]
    options = {"season": season} if season != 1 else {}
    if given:
        options["scale"] = "given"
        wide[-1] = train = _scale(wide[-1], season)
    else:
        wide[-1] = _scale(wide[-1], season)
    return Case(label, options, split(preds, target, *more, train),
                value(*wide), "NumPy: by definition")


def _mase() -> Fixture:
    name = "MeanAbsoluteScaledError"

    def mase(preds, target, scale):
        return np.mean(np.abs(preds - target).mean(1) / scale)

    def case(label: str, **options) -> Case:
        return _forecast_case(name, label, mase, **options)

    return Fixture(name, "NumPy", [
        case("plain"), case("seasonal", season=12),
        case("given", season=4, given=True),
        case("float64", dtype="float64"),
    ])


def _owa() -> Fixture:
    name = "OverallWeightedAverage"

    def smape(p, t):
        return np.mean(2 * np.abs(p - t) / (np.abs(p) + np.abs(t)))

    def owa(preds, target, benchmark, scale):
        def mase(p):
            return np.mean(np.abs(p - target).mean(1) / scale)

        return (mase(preds) / mase(benchmark)
                + smape(preds, target) / smape(benchmark, target)) / 2

    def case(label: str, **options) -> Case:
        return _forecast_case(name, label, owa, inputs=4, **options)

    return Fixture(name, "NumPy", [
        case("plain"), case("seasonal", season=12),
        case("given", season=4, given=True),
        case("float64", dtype="float64"),
    ])


def _csi() -> Fixture:
    name = "CriticalSuccessIndex"
    source = "sklearn.metrics.jaccard_score of value >= threshold"

    def index(p, t, threshold):
        events, forecasts = (x.reshape(-1) >= threshold for x in (t, p))
        return jaccard_score(events, forecasts) \
            if (events | forecasts).any() else np.nan

    def case(label: str, shape: tuple[int, ...], threshold: float,
             dtype: str = "float32") -> Case:
        preds, target = pair(seeded(name, label), shape, dtype)
        return Case(label, {"threshold": threshold}, split(preds, target),
                    index(preds, target, threshold), source)

    def sequence(label: str, shape: tuple[int, ...], dim: int) -> Case:
        preds, target = pair(seeded(name, label), shape)
        batches = [b for b in split(preds, target) if len(b[0]) > 0]
        values = [index(np.take(p, i, dim), np.take(t, i, dim), 0.25)
                  for p, t in batches for i in range(p.shape[dim])]
        return Case(label, {"threshold": 0.25, "keep_sequence_dim": dim},
                    batches, np.array(values), source, row_split=dim == 0)

    integers = tuple(seeded(name, "int64").integers(0, 9, (2, ROWS)))
    return Fixture(name, "scikit-learn 1.9.1", [
        case("plain", (ROWS,), 0.25), case("multidim", (ROWS, 2, 3), 0.5),
        case("float64", (ROWS,), 0.0, "float64"),
        case("no_events", (ROWS,), 50.0),
        Case("int64", {"threshold": 4}, split(*integers),
             index(*integers, 4), source),
        sequence("sequence_0", (ROWS, 6), 0),
        sequence("sequence_1", (ROWS, 3, 4), 1),
    ])
