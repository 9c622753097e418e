"""Association of categorical variables, and agreement of raters."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.stats.contingency import association, chi2_contingency, crosstab
from sklearn.metrics import completeness_score
from statsmodels.stats.inter_rater import fleiss_kappa

from .fixture import Batch, Case, Fixture
from .sampling import ROWS, join, seeded, split

SCIPY = "scipy.stats.contingency.association"
BERGSMA = "NumPy: Bergsma's formula, of scipy.stats.chi2_contingency"
Value = Callable[[np.ndarray, np.ndarray], float]


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [
        _associations("CramersV", _cramer, "cramer", _both_corrections()),
        _associations("TschuprowsT", _tschuprow, "tschuprow",
                      _both_corrections()),
        _associations("PearsonsContingencyCoefficient", _pearson, "pearson",
                      [{}]),
        _associations("TheilsU", _theil, "", [{}]),
        _matrices("CramersVMatrix", _cramer, {"bias_correction": False}),
        _matrices("TschuprowsTMatrix", _tschuprow, {}),
        _matrices("PearsonsContingencyCoefficientMatrix", _pearson, {}),
        _matrices("TheilsUMatrix", _theil, {}),
        _fleiss(),
    ]


def _both_corrections() -> list[dict]:
    return [{}, {"bias_correction": False}, {"yates": True},
            {"bias_correction": False, "yates": True}]


def _table(preds: np.ndarray, target: np.ndarray) -> np.ndarray:
    return crosstab(preds, target).count


def _phi_squared(table: np.ndarray, yates: bool) -> float:
    return chi2_contingency(table, correction=yates).statistic / table.sum()


def _corrected(table: np.ndarray, bias_correction: bool = True,
               yates: bool = False) -> tuple[float, float, float]:
    """phi squared, and rows and columns less 1."""
    r, c = table.shape
    n = table.sum()
    phi = _phi_squared(table, yates)
    if not bias_correction:
        return phi, r - 1, c - 1
    return (max(0.0, phi - (r - 1) * (c - 1) / (n - 1)),
            r - (r - 1) ** 2 / (n - 1) - 1, c - (c - 1) ** 2 / (n - 1) - 1)


def _cramer(preds: np.ndarray, target: np.ndarray, **options) -> float:
    table = _table(preds, target)
    if min(table.shape) < 2:
        return np.nan
    phi, r, c = _corrected(table, **options)
    return np.sqrt(phi / min(r, c)) if min(r, c) > 0 else np.nan


def _tschuprow(preds: np.ndarray, target: np.ndarray, **options) -> float:
    table = _table(preds, target)
    if min(table.shape) < 2:
        return np.nan
    phi, r, c = _corrected(table, **options)
    return np.sqrt(phi / np.sqrt(r * c)) if min(r, c) > 0 else np.nan


def _pearson(preds: np.ndarray, target: np.ndarray) -> float:
    table = _table(preds, target)
    if min(table.shape) < 2:
        return 0.0
    return association(table, method="pearson")


def _theil(preds: np.ndarray, target: np.ndarray) -> float:
    if len(np.unique(preds)) == 1:
        return 0.0
    return completeness_score(target, preds)


def _variables(name: str, rows: int, columns: int) -> Batch:
    rng = seeded("nominal", name)
    target = rng.integers(0, columns, ROWS)
    follows = rng.random(ROWS) < 0.6
    preds = np.where(follows, (target + 1) % rows, rng.integers(0, rows, ROWS))
    return preds, target


def _inputs() -> dict[str, Batch]:
    preds, target = _variables("plain", 4, 3)
    halves = np.arange(ROWS) % 2
    labels = np.array([5, -9, 2 ** 40, 12])
    return {
        "plain": (preds, target),
        "two_by_two": _variables("two_by_two", 2, 2),
        "two_by_five": _variables("two_by_five", 2, 5),
        "independent": (halves, np.arange(ROWS) // 2 % 2),
        "decided": (target * 2, target),
        "decided_by_preds": (np.arange(ROWS) % 6, np.arange(ROWS) % 3),
        "one_category": (preds, 0 * target),
        "constant_preds": (0 * preds + 2, target),
        "all_different": (np.arange(ROWS), target),
        "any_numbers": (labels[preds], labels[target + 1]),
        "float32": (preds.astype("float32"), target.astype("float32")),
        "uint8": (preds.astype("uint8"), target.astype("uint8")),
        "bool": (halves == 1, target > 0),
    }


def _scores(labels: np.ndarray, classes: int, name: str) -> np.ndarray:
    drawn = seeded("nominal", name).random((ROWS, classes))
    drawn[np.arange(ROWS), labels] += 1
    return np.round(drawn, 3).astype("float32")


def _missing() -> Batch:
    preds, target = (x.astype("float32") for x in _variables("nan", 4, 3))
    preds[[2, 9]] = np.nan
    target[[9, 15, 20]] = np.nan
    return preds, target


def _fill(values: np.ndarray, strategy: str, replace: float) -> np.ndarray:
    return np.where(np.isnan(values), 99 if strategy == "category" else replace,
                    values).astype("int64")


def _kept(preds: np.ndarray, target: np.ndarray, strategy: str,
          replace: float = 0) -> Batch:
    if strategy == "drop":
        kept = ~(np.isnan(preds) | np.isnan(target))
        return preds[kept].astype("int64"), target[kept].astype("int64")
    return _fill(preds, strategy, replace), _fill(target, strategy, replace)


def _associations(metric: str, value: Callable[..., float], method: str,
                  all_options: list[dict]) -> Fixture:
    cases = []
    for options in all_options:
        suffix = "".join(f"_{name}_{on}" for name, on in options.items())
        corrects = options.get("bias_correction", True) or "yates" in options
        by_scipy = method and not (method != "pearson" and corrects)
        source = SCIPY if by_scipy else BERGSMA
        if metric == "TheilsU":
            source = "sklearn.metrics.completeness_score(target, preds)"
        for name, (preds, target) in _inputs().items():
            expected = value(preds, target, **options)
            table = _table(preds, target)
            if by_scipy and min(table.shape) > 1:
                other = association(table, method=method)
                assert np.isclose(expected, other, 1e-12, 1e-12), name
            cases.append(Case(name + suffix, options, split(preds, target),
                              expected, source, rtol=1e-9, atol=1e-12))
    preds, target = _variables("scores", 4, 3)
    scores = _scores(preds, 4, "preds"), _scores(target, 3, "target")
    cases.append(Case("scores", {}, split(*scores), value(preds, target),
                      "of the places of the largest", rtol=1e-9, atol=1e-12))
    for strategy, replace in (("drop", 0), ("replace", 0), ("replace", 7),
                              ("category", 0)):
        kept = _kept(*_missing(), strategy, replace)
        options = {"nan_strategy": strategy, "nan_replace_value": replace}
        cases.append(Case(f"nan_{strategy}_{replace}", options,
                          split(*_missing()), value(*kept),
                          "of what is left, or put in its place", rtol=1e-9,
                          atol=1e-12))
    return Fixture(metric, "SciPy 1.17.1", cases)


def _matrix(data: np.ndarray, value: Callable[..., float], strategy: str,
            **options) -> np.ndarray:
    columns = data.shape[1]
    result = np.eye(columns)
    for i in range(columns):
        for j in range(columns):
            if i != j:
                pair = _kept(data[:, i], data[:, j], strategy)
                result[i, j] = value(*pair, **options)
    return result


def _matrices(metric: str, value: Callable[..., float],
              options: dict) -> Fixture:
    rng = seeded(metric)
    data = rng.integers(0, 3, (ROWS, 4))
    data[:, 1] = np.where(rng.random(ROWS) < 0.7, data[:, 0], data[:, 1])
    data[:, 2] = 5 * data[:, 3] - 2
    missing = data.astype("float32")
    missing[::5, 0] = np.nan
    missing[3:6, 2] = np.nan

    def case(name: str, array: np.ndarray, strategy: str = "drop") -> Case:
        given = dict(options)
        if strategy != "drop":
            given["nan_strategy"] = strategy
        return Case(name, given, split(array),
                    _matrix(array.astype("float64"), value, strategy,
                            **options),
                    "of every two columns by itself", rtol=1e-9, atol=1e-12)

    return Fixture(metric, "SciPy 1.17.1", [
        case("plain", data), case("nan", missing),
        case("nan_category", missing, "category"),
        case("one_column", data[:, :1]),
    ])


def _kappa_of_fractions(counts: np.ndarray) -> float:
    """By hand: rows may have different numbers of raters."""
    rows = [[int(n) for n in row] for row in counts]
    pairs = [(sum(n * (n - 1) for n in row), sum(row)) for row in rows]
    agreement = [Fraction(same, n * (n - 1)) for same, n in pairs if n > 1]
    total = sum(map(sum, rows))
    expected = sum(Fraction(sum(column), total) ** 2
                   for column in zip(*rows, strict=True))
    if expected == 1 or not agreement:
        return np.nan
    observed = sum(agreement) / len(agreement)
    return float((observed - expected) / (1 - expected))


def _fleiss() -> Fixture:
    metric = "FleissKappa"

    def counts(name: str, raters: int, categories: int) -> np.ndarray:
        rng = seeded(metric, name)
        chances = rng.dirichlet(np.full(categories, 0.6), ROWS)
        return np.array([rng.multinomial(raters, p) for p in chances])

    def case(name: str, array: np.ndarray) -> Case:
        expected = _kappa_of_fractions(array)
        source = "by hand, in fractions"
        if len(set(array.sum(1))) == 1 and not np.isnan(expected):
            assert np.isclose(fleiss_kappa(array), expected, 1e-12), name
            source = "statsmodels.stats.inter_rater.fleiss_kappa"
        return Case(name, {}, split(array), expected, source, rtol=1e-12)

    uneven = counts("uneven", 5, 3)
    uneven[::4] = counts("uneven_few", 2, 3)[::4]
    uneven[[1, 6]] = [[1, 0, 0], [0, 0, 0]]
    perfect = np.eye(3, dtype="int64")[np.arange(ROWS) % 3] * 4
    lone = np.zeros((ROWS, 3), "int64")
    lone[:, 1] = 6
    scores = np.round(seeded(metric, "probs").random((ROWS, 4, 3)), 3)
    scores[:, 1] += 0.25
    chosen = scores.argmax(1)
    chosen = np.stack([(chosen == k).sum(1) for k in range(4)], 1)
    probs = Case("probs", {"mode": "probs"},
                 split(scores.astype("float32")),
                 _kappa_of_fractions(chosen), "of the counts of choices",
                 rtol=1e-12)
    return Fixture(metric, "statsmodels 0.14.6", [
        case("plain", counts("plain", 5, 3)),
        case("two_raters", counts("two_raters", 2, 4)),
        case("many_categories", counts("many_categories", 3, 7)),
        case("int32", counts("int32", 4, 3).astype("int32")),
        case("uneven", uneven), case("perfect", perfect),
        case("one_category", lone), probs,
    ])
