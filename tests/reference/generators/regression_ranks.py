"""Rank correlations."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from .fixture import Case, Fixture
from .regression import UNDEFINED, pair
from .sampling import ROWS, SIZES, seeded, split

SCIPY = "SciPy 1.17.1"
WIDE = ", inputs widened to float64"


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_spearman(), _kendall()]


def _case(name: str, inputs: tuple[np.ndarray, np.ndarray],
          reference: Callable[[np.ndarray, np.ndarray], dict[str, float]],
          source: str, sizes: tuple[int, ...] = SIZES, **options) -> Case:
    """A case of columns; `reference` gives the parts of a column's result."""
    columns = [x.astype("float64").reshape(len(x), -1).T for x in inputs]
    if len(columns[0]) > 1:
        options["num_outputs"] = len(columns[0])
    values = [reference(p, t) for p, t in zip(*columns, strict=True)]
    expected = {part: np.array([v[part] for v in values]).squeeze()
                for part in values[0]}
    if np.isnan(expected[""]).all():
        source = UNDEFINED
    return Case(name, options, split(*inputs, sizes=sizes),
                expected if len(expected) > 1 else expected[""], source)


def _cases(metric: str, reference, source: str, **options) -> list[Case]:
    def rng(name: str) -> np.random.Generator:
        return seeded(metric, name)

    def case(name: str, inputs, **more) -> Case:
        return _case(name, inputs, reference, source, **more, **options)

    plain = pair(rng("plain"), (ROWS,))
    zeros = plain[0].copy()
    zeros[::2] = np.where(np.arange(ROWS // 2) % 2 == 0, 0.0, -0.0)
    tied = rng("tied").integers(0, 4, (2, ROWS))
    both = np.stack([tied[0], tied[0] + tied[1] // 2]).astype("float32")
    infinite = plain[0].copy()
    infinite[[2, 9, 14]] = np.inf, -np.inf, np.inf
    constant = np.full(ROWS, 0.1, "float32")
    mixed = pair(rng("one_constant_output"), (ROWS, 2))
    mixed[1][:, 1] = 0.25
    return [
        case("plain", plain), case("negative", (plain[0], -plain[1])),
        case("float64", pair(rng("float64"), (ROWS,), "float64")),
        case("float64_and_float32", (pair(rng("mixed"), (ROWS,),
                                          "float64")[0], plain[1])),
        case("column", pair(rng("column"), (ROWS, 1))),
        case("outputs", pair(rng("outputs"), (ROWS, 3))),
        case("ties", (both[0], both[1])),
        case("ties_int64", (tied[0], tied[1])),
        case("ties_binary", (plain[0], (plain[1] > 0).astype("uint8"))),
        case("signed_zeros", (zeros, plain[1])),
        case("infinite", (infinite, plain[1])),
        case("linear", (plain[0], 3 * plain[0] + 2)),
        case("offset_1e4", pair(rng("offset"), (ROWS,), offset=1e4)),
        case("one_row_batches", plain, sizes=(1,) * ROWS),
        case("constant_target", (plain[0], constant)),
        case("one_constant_output", mixed),
        case("single_sample", tuple(x[:1] for x in plain), sizes=(0, 1)),
        case("two_samples", tuple(x[:2] for x in plain), sizes=(1, 1)),
    ]


def _spearman() -> Fixture:
    def reference(p, t):
        if len(p) < 2 or np.ptp(p) == 0 or np.ptp(t) == 0:
            return {"": np.nan}
        return {"": stats.spearmanr(p, t).statistic}

    return Fixture("SpearmanCorrCoef", SCIPY, _cases(
        "SpearmanCorrCoef", reference, "scipy.stats.spearmanr" + WIDE))


def _tau_a(p: np.ndarray, t: np.ndarray) -> float:
    """By definition, over all pairs."""
    first, second = np.triu_indices(len(p), 1)
    with np.errstate(invalid="ignore"):
        signs = np.sign(p[first] - p[second]) * np.sign(t[first] - t[second])
    return np.nansum(signs) / len(first) if len(first) else np.nan


def _kendall() -> Fixture:
    name = "KendallRankCorrCoef"
    scipy = "scipy.stats.kendalltau" + WIDE

    def tau(p, t, variant="b", alternative="two-sided"):
        if len(p) < 2 or np.ptp(p) == 0 or np.ptp(t) == 0:
            return np.nan, np.nan
        # The approximation divides by zero for two samples.
        result = stats.kendalltau(
            p, t, variant=variant, alternative=alternative,
            method="asymptotic" if len(p) > 2 else "auto")
        return result.statistic, result.pvalue

    def of(variant: str):
        return lambda p, t: {"": tau(p, t, variant)[0]}

    cases = _cases(name, of("b"), scipy)
    continuous = pair(seeded(name, "variants"), (ROWS,))
    outputs = pair(seeded(name, "t_test_outputs"), (ROWS, 2))
    tied = tuple(seeded(name, "tied").integers(0, 4, (2, ROWS)))
    constant = (continuous[0], np.full(ROWS, 0.25, "float32"))
    for label, inputs in (("", continuous), ("_ties", tied)):
        cases += [
            _case("variant_a" + label, inputs, lambda p, t: {"": _tau_a(p, t)},
                  "NumPy: the sum of signs over pairs", variant="a"),
            _case("variant_c" + label, inputs, of("c"), scipy, variant="c"),
        ]
        for alternative in ("two-sided", "less", "greater"):
            for variant in ("b", "c") if alternative == "less" else ("b",):
                cases.append(_case(
                    f"t_test_{variant}_{alternative}{label}", inputs,
                    lambda p, t, v=variant, a=alternative: dict(zip(
                        ("", "p_value"), tau(p, t, v, a), strict=True)),
                    scipy + ", asymptotic", variant=variant, t_test=True,
                    alternative=alternative))
    cases += [
        _case("t_test_outputs", outputs,
              lambda p, t: dict(zip(("", "p_value"), tau(p, t), strict=True)),
              scipy + ", asymptotic", t_test=True),
        _case("t_test_a", continuous,
              lambda p, t: dict(zip(("", "p_value"), tau(p, t), strict=True)),
              scipy + ", asymptotic, of b: the same without ties",
              variant="a", t_test=True),
        _case("constant_a", constant, lambda p, t: {"": _tau_a(p, t)},
              "NumPy: the sum of signs over pairs", variant="a"),
        _case("constant_c", constant, of("c"), scipy, variant="c"),
    ]
    return Fixture(name, SCIPY, cases)
