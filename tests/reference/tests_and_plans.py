"""Writes the reference values of tests beside the intervals, and of plans.

    python tests_and_plans.py            writes data/intervals/tests_and_plans.json
    python tests_and_plans.py --check    compares it with freshly made values
    python tests_and_plans.py --draws N  prints simulated rates beside the formulas

Adjusted p-values, the comparison of proportions and tests of equivalence are
those of statsmodels, Welch's test SciPy's. DeLong's comparison of different rows
is its formula in NumPy. The power of McNemar's test is summed over all outcomes
with SciPy's probabilities; numbers of rows are found by counting up from 1.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
from scipy import special, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import (
    confint_proportions_2indep, proportion_confint, proportions_ztest)
from statsmodels.stats.weightstats import ttost_ind

from intervals import placements, same

DATA = Path(__file__).resolve().parent / "data" / "intervals" / "tests_and_plans.json"


def adjustments() -> list[dict]:
    """Of several p-values, with ties, 0 and 1."""
    rng = np.random.default_rng(0)
    cases = []
    for p in ([0.03], [0.01, 0.04, 0.03], [0.02, 0.02, 0.02, 0.5],
              [0.0, 1.0, 0.5, 1.0], np.round(rng.beta(0.4, 2, 40), 3).tolist()):
        methods = {"holm": "holm", "hochberg": "simes-hochberg",
                   "benjamini_hochberg": "fdr_bh"}
        cases.append({"p": p, **{
            name: multipletests(p, method=method)[1].tolist()
            for name, method in methods.items()}})
    return cases


def proportions() -> list[dict]:
    """Newcombe's hybrid interval, and the score test."""
    cases = []
    # The first is published as 0.0524 to 0.3339 (Newcombe 1998).
    for own, n, other, m in [(56, 70, 48, 80), (9, 10, 3, 10), (6, 7, 2, 7),
                             (5, 56, 0, 29), (0, 10, 0, 20), (10, 10, 0, 20),
                             (10, 10, 20, 20), (900, 1000, 930, 1000)]:
        for level in (0.8, 0.95):
            ends = confint_proportions_2indep(
                own, n, other, m, method="newcomb", compare="diff",
                alpha=1 - level)
            varies = 0 < own + other < n + m
            p = proportions_ztest([own, other], [n, m])[1] if varies else None
            cases.append({"counts": [own, n, other, m], "level": level,
                          "ends": list(map(float, ends)),
                          "p": None if p is None else float(p)})
    return cases


def areas() -> dict:
    """Of scores of different rows."""
    rng = np.random.default_rng(1)
    parts, inputs = [], []
    for n, shift in ((60, 0.3), (90, 0.15)):
        target = (rng.random(n) < 0.4).astype(int)
        scores = np.round(rng.normal(0.4 + shift * target, 0.2), 2)
        inputs.append({"scores": scores.tolist(), "target": target.tolist()})
        v10, v01 = placements(scores, target)
        parts.append((v10.mean(), v10.var(ddof=1) / len(v10)
                      + v01.var(ddof=1) / len(v01)))
    difference = float(parts[0][0] - parts[1][0])
    error = math.sqrt(parts[0][1] + parts[1][1])
    z = stats.norm.ppf(0.95)
    return {"models": inputs, "difference": difference, "error": error,
            "ends": [float(difference - z * error), float(difference + z * error)],
            "level": 0.9, "p": float(2 * stats.norm.sf(abs(difference) / error))}


def summary(sample: np.ndarray) -> list[float]:
    """Mean, standard deviation and n."""
    return [float(sample.mean()), float(sample.std(ddof=1)), len(sample)]


def welch_and_equivalence() -> list[dict]:
    """Both of the same pairs of samples."""
    rng = np.random.default_rng(2)
    cases = []
    for n, m, shift, spread, margin in [
            (2, 2, 0, 1, 1.5), (30, 25, 0.5, 1.4, 1.2), (400, 20, 0.1, 3, 2),
            (50, 50, 0, 1, 0.6), (80, 70, -1, 1, 0.5), (60, 60, 1, 1, 0.5)]:
        first = np.round(rng.normal(5 + shift, 1, n), 3)
        second = np.round(rng.normal(5, spread, m), 3)
        test = stats.ttest_ind_from_stats(
            *summary(first), *summary(second), equal_var=False)
        both = stats.ttest_ind(first, second, equal_var=False)
        ends, narrow = (both.confidence_interval(level) for level in (0.95, 0.9))
        p, lower, upper = ttost_ind(first, second, -margin, margin,
                                    usevar="unequal")
        cases.append({
            "first": summary(first), "second": summary(second),
            "p": float(test.pvalue), "degrees": float(both.df),
            "ends": [float(ends.low), float(ends.high)],
            "margin": margin, "narrow": [float(narrow.low), float(narrow.high)],
            "non_inferiority_p": float(lower[1]),
            "non_superiority_p": float(upper[1]), "equivalence_p": float(p)})
    return cases


def normal_equivalence() -> dict:
    """With infinitely many degrees of freedom."""
    difference, error, margin, alpha = -0.01, 0.02, 0.03, 0.025
    z = stats.norm.ppf(1 - alpha)
    return {"difference": difference, "error": error, "margin": margin,
            "alpha": alpha,
            "ends": [difference - z * error, difference + z * error],
            "non_inferiority_p": float(stats.norm.sf((difference + margin) / error)),
            "non_superiority_p": float(stats.norm.cdf((difference - margin) / error))}


def first_of(suffices) -> int:
    """The least positive integer."""
    n = 1
    while not suffices(n):
        n += 1
    return n


def wilson_width(p: float, n: int, level: float) -> float:
    """Of statsmodels's interval."""
    low, high = proportion_confint(p * n, n, 1 - level, "wilson")
    return high - low


def wilson_rows() -> list[dict]:
    """The first n that is narrow enough."""
    return [{"proportion": p, "width": width, "level": level,
             "rows": first_of(lambda n: wilson_width(p, n, level) <= width)}
            for p, width, level in [(0.9, 0.05, 0.95), (0.5, 0.1, 0.95),
                                    (0.0, 0.02, 0.9), (1.0, 0.5, 0.99),
                                    (0.97, 0.01, 0.8), (0.3, 0.9, 0.8)]]


def mid_p(x: np.ndarray, k: int) -> np.ndarray:
    """Of McNemar's test, for x of k."""
    fewer = np.minimum(x, k - x)
    p = 2 * stats.binom.cdf(fewer, k, 0.5) - stats.binom.pmf(fewer, k, 0.5)
    return np.where(2 * x == k, 1.0, p)


def mcnemar_power(first: float, second: float, n: int, alpha: float) -> float:
    """Over all numbers of rows that one model alone has right."""
    power = 0.0
    for k in range(1, n + 1):
        x = np.arange(k + 1)
        rejected = mid_p(x, k) <= alpha
        power += stats.binom.pmf(k, n, first + second) * stats.binom.pmf(
            x[rejected], k, first / (first + second)).sum()
    return float(power)


def mcnemar_powers() -> list[dict]:
    """And the first number of rows that has the power, where that is quick."""
    cases = []
    for first, second, n, alpha in [(0.1, 0.05, 400, 0.05), (0.3, 0.1, 60, 0.01),
                                    (0.2, 0.0, 40, 0.05), (0.7, 0.3, 45, 0.05),
                                    (0.25, 0.25, 100, 0.05), (0.02, 0.1, 1, 0.05),
                                    (0.0, 0.05, 200, 0.1)]:
        cases.append({"first": first, "second": second, "rows": n, "alpha": alpha,
                      "power": mcnemar_power(first, second, n, alpha)})
    return cases


def mcnemar_rows() -> list[dict]:
    """The first number of rows with the power."""
    return [{"first": first, "second": second, "power": power, "alpha": alpha,
             "rows": first_of(
                 lambda n: mcnemar_power(first, second, n, alpha) >= power)}
            for first, second, power, alpha in [(0.3, 0.1, 0.8, 0.05),
                                                (0.05, 0.25, 0.9, 0.01)]]


def area_error(area: float, p: float, q: float) -> float:
    """Hanley's and McNeil's, with Newcombe's mean of both numbers."""
    q1, q2 = area / (2 - area), 2 * area ** 2 / (1 + area)
    both = (p + q) / 2 - 1
    return math.sqrt((area * (1 - area) + both * (q1 - area ** 2)
                      + both * (q2 - area ** 2)) / p / q)


def normal_area_error(area: float, p: float, q: float) -> float:
    """Of normal scores of equal variance."""
    pairs = area - 2 * special.owens_t(stats.norm.ppf(area), 1 / math.sqrt(3))
    return math.sqrt((area * (1 - area) + (p + q - 2) * (pairs - area ** 2))
                     / p / q)


def area_width(area: float, prevalence: float, n: int, level: float) -> float:
    """Of the interval on the logit scale."""
    p, q = prevalence * n, n - prevalence * n
    if min(p, q) < 2 - 1e-9:
        return math.inf
    t = stats.t.ppf(0.5 + level / 2, min(p, q) - 1)
    scaled = t * area_error(area, p, q) / area / (1 - area)
    logit = math.log(area / (1 - area))
    return 1 / (1 + math.exp(-logit - scaled)) - 1 / (1 + math.exp(-logit + scaled))


def area_rows() -> list[dict]:
    """The first number of rows that is narrow enough."""
    return [{"area": area, "prevalence": prevalence, "width": width,
             "level": level, "rows": first_of(
                 lambda n: area_width(area, prevalence, n, level) <= width)}
            for area, prevalence, width, level in [
                (0.9, 0.2, 0.05, 0.95), (0.75, 0.5, 0.1, 0.9),
                (0.8, 0.9, 0.2, 0.95)]]


def areas_power(first, second, correlation, prevalence, n, alpha) -> float:
    """Of DeLong's test."""
    p, q = prevalence * n, n - prevalence * n
    if min(p, q) < 2 - 1e-9:
        return 0.0
    a, b = (area_error(area, p, q) for area in (first, second))
    error = math.sqrt(a * a + b * b - 2 * correlation * a * b)
    z = stats.norm.ppf(1 - alpha / 2)
    shift = (first - second) / error
    return float(stats.norm.sf(z - shift) + stats.norm.cdf(-z - shift))


def areas_powers() -> list[dict]:
    """And the first number of rows that has a power of 0.8."""
    cases = []
    for first, second, correlation, prevalence, alpha in [
            (0.9, 0.85, 0.5, 0.3, 0.05), (0.7, 0.8, 0, 0.5, 0.01),
            (0.9, 0.88, 0.9, 0.1, 0.05)]:
        case = [first, second, correlation, prevalence]
        cases.append({
            "areas": case, "alpha": alpha,
            "power_of_500": areas_power(*case, 500, alpha),
            "rows": first_of(lambda n: areas_power(*case, n, alpha) >= 0.8)})
    return cases


def values() -> dict:
    """Everything."""
    return {"adjustments": adjustments(), "proportions": proportions(),
            "areas": areas(), "samples": welch_and_equivalence(),
            "normal_equivalence": normal_equivalence(),
            "wilson_rows": wilson_rows(), "mcnemar_powers": mcnemar_powers(),
            "mcnemar_rows": mcnemar_rows(),
            "area_error": {"area": 0.9, "positives": 100, "negatives": 400,
                           "error": area_error(0.9, 100, 400)},
            "area_rows": area_rows(), "areas_powers": areas_powers()}


def simulate(draws: int) -> None:
    """Rates of significant tests, and errors of areas, beside the formulas."""
    rng = np.random.default_rng(0)
    first, second, n = 0.1, 0.05, 400
    counts = rng.multinomial(n, [first, second, 1 - first - second], draws)
    rejected = [mid_p(x, x + y) <= 0.05 for x, y, _ in counts]
    print(f"McNemar: {np.mean(rejected):.4f} of {draws} draws, formula "
          f"{mcnemar_power(first, second, n, 0.05):.4f}")
    p, q = 100, 400
    target = np.repeat([1, 0], [p, q])
    for area in (0.75, 0.9, 0.95, 0.99):
        shift = math.sqrt(2) * stats.norm.ppf(area)
        drawn = [placements(np.concatenate([
            rng.normal(shift, 1, p), rng.normal(0, 1, q)]), target)[0].mean()
            for _ in range(draws)]
        print(f"error of an area of {area} of normal scores: {np.std(drawn):.5f}, "
              f"theirs {normal_area_error(area, p, q):.5f}, "
              f"formula {area_error(area, p, q):.5f}")


def main() -> int:
    """Writes or checks the file, or simulates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--draws", type=int)
    arguments = parser.parse_args()
    if arguments.draws:
        simulate(arguments.draws)
        return 0
    fresh = values()
    if not arguments.check:
        DATA.write_text(json.dumps(fresh) + "\n", encoding="utf-8")
        return 0
    if same(json.loads(DATA.read_text(encoding="utf-8")), fresh):
        return 0
    print(f"{DATA} differs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
