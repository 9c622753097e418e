"""Writes the reference values of intervals and comparisons.

    python intervals.py            writes data/intervals/values.json
    python intervals.py --check    compares it with freshly made values

Proportions, of which differences are made, and McNemar's test are those of
statsmodels, DeLong's variance that of Sun and Xu's midranks in NumPy, the delta
method complex-step derivatives, Newcombe's ends roots found by SciPy, random
words those of a Philox4x32-10 in Python integers, and areas under the curves of
replicates scikit-learn's with sample weights.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
from scipy import optimize, stats
from sklearn.metrics import average_precision_score, roc_auc_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

DATA = Path(__file__).resolve().parent / "data" / "intervals" / "values.json"
RELATIVE_TOLERANCE = 1e-9


def proportions() -> list[dict]:
    """Wilson's and Clopper-Pearson's intervals."""
    cases = []
    for successes, n in [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (45, 50),
                         (99, 100), (9973, 10_000), (123_456, 1_000_000)]:
        for level in (0.8, 0.95, 0.999):
            ends = {name: list(map(float, proportion_confint(
                successes, n, 1 - level, method)))
                for name, method in (("wilson", "wilson"),
                                     ("clopper_pearson", "beta"))}
            cases.append({"successes": successes, "n": n, "level": level,
                          **ends})
    return cases


def quantiles() -> list[dict]:
    """Quantiles of Student's t distribution."""
    return [{"p": p, "degrees": degrees,
             "t": float(stats.t.ppf(p, degrees)),
             "z": float(stats.norm.ppf(p))}
            for p in (0.6, 0.975, 0.9999) for degrees in (1, 2, 19, 1000)]


def midranks(x: np.ndarray) -> np.ndarray:
    """Ranks from 1, the mean of them for ties."""
    return stats.rankdata(x)


def placements(scores: np.ndarray, target: np.ndarray):
    """The fractions of the other class in order with each sample (Sun, Xu)."""
    x, y = scores[target == 1], scores[target == 0]
    both = midranks(np.concatenate([x, y]))
    v10 = (both[:len(x)] - midranks(x)) / len(y)
    v01 = 1 - (both[len(x):] - midranks(y)) / len(x)
    return v10, v01


def areas() -> list[dict]:
    """DeLong's standard error, and the ends on the logit scale."""
    cases = []
    rng = np.random.default_rng(1)
    for n, digits, share in [(12, 1, 0.5), (50, 2, 0.2), (300, 1, 0.3),
                             (300, 6, 0.1)]:
        target = (rng.random(n) < share).astype(int)
        target[:2], target[2:4] = 1, 0
        scores = np.round(rng.normal(0.4 + 0.2 * target, 0.2), digits)
        v10, v01 = placements(scores, target)
        area = float(v10.mean())
        error = float(np.sqrt(v10.var(ddof=1) / len(v10)
                              + v01.var(ddof=1) / len(v01)))
        t = stats.t.ppf(0.975, min(len(v10), len(v01)) - 1)
        logit = math.log(area / (1 - area))
        width = t * error / (area * (1 - area))
        parts = np.concatenate([(v10 - area) / len(v10),
                                (v01 - area) / len(v01)])
        cases.append({
            "scores": scores.tolist(), "target": target.tolist(),
            "area": area, "error": error,
            "ends": [1 / (1 + math.exp(-logit + s * width)) for s in (1, -1)],
            "newcombe": newcombe(area, len(v10), len(v01)),
            "acceleration": float((parts ** 3).sum() / 6
                                  / (parts ** 2).sum() ** 1.5)})
    return cases


def effective_correction(weights: np.ndarray) -> float:
    """n / (n - 1) for Kish's effective number of weights."""
    n = weights.sum() ** 2 / (weights ** 2).sum()
    return n / (n - 1)


def weighted_area() -> dict:
    """The weighted area and its standard error, pair by pair."""
    rng = np.random.default_rng(2)
    n = 40
    target = (rng.random(n) < 0.4).astype(int)
    scores = np.round(rng.normal(0.4 + 0.2 * target, 0.2), 1)
    weight = np.round(rng.exponential(size=n), 3)
    p, q = target == 1, target == 0
    order = (scores[p][:, None] > scores[q]) + 0.5 * (
        scores[p][:, None] == scores[q])
    wp, wq = weight[p], weight[q]
    v10 = order @ wq / wq.sum()
    v01 = wp @ order / wp.sum()
    area = float(wp @ v10 / wp.sum())
    error = float(np.sqrt(
        effective_correction(wp) * ((wp * (v10 - area) / wp.sum()) ** 2).sum()
        + effective_correction(wq) * ((wq * (v01 - area) / wq.sum()) ** 2).sum()))
    return {"scores": scores.tolist(), "target": target.tolist(),
            "weight": weight.tolist(), "area": area, "error": error}


def newcombe(area: float, p: int, q: int) -> list[float]:
    """Roots of |area - t| = z sqrt(V(t))."""
    z = stats.norm.ppf(0.975)
    extra = (p + q) / 2 - 1

    def excess(t: float) -> float:
        variance = t * (1 - t) / (p * q) * (
            1 + extra * ((1 - t) / (2 - t) + t / (1 + t)))
        return abs(area - t) - z * math.sqrt(max(variance, 0))

    # At areas of 0 and 1, these are roots as well.
    low = 0.0 if area == 0 else optimize.brentq(
        excess, 0, min(area, 1 - 1e-9), xtol=1e-15)
    high = 1.0 if area == 1 else optimize.brentq(
        excess, max(area, 1e-9), 1, xtol=1e-15)
    return [low, high]


def f1_scores(k: np.ndarray) -> np.ndarray:
    """Of the classes of a confusion matrix."""
    tp = np.diag(k)
    return 2 * tp / (k.sum(0) + k.sum(1))


def mcc(k: np.ndarray):
    """The correlation of a confusion matrix, Gorodkin's."""
    n, c = k.sum(), np.trace(k)
    t, p = k.sum(1), k.sum(0)
    return (c * n - t @ p) / np.sqrt((n * n - p @ p) * (n * n - t @ t))


def kappa(k: np.ndarray):
    """Cohen's."""
    n = k.sum()
    expected = k.sum(1) @ k.sum(0) / n / n
    return (np.trace(k) / n - expected) / (1 - expected)


def f_half(k: np.ndarray):
    """F-beta of class 1 with beta = 0.5."""
    tp, fp, fn = k[1, 1], k[0, 1], k[1, 0]
    return 1.25 * tp / (1.25 * tp + 0.25 * fn + fp)


def deltas() -> list[dict]:
    """Values of confusion matrices, with ends on the logit scale."""
    three = [[40, 5, 3], [7, 30, 2], [0, 4, 25]]
    two = [[70, 5], [6, 30]]
    cases = []
    for name, matrix, value, low in [
            ("macro_f1", three, lambda k: f1_scores(k).mean(), 0),
            ("mcc", three, mcc, -1), ("kappa", three, kappa, -1),
            ("mcc", two, mcc, -1), ("kappa", two, kappa, -1),
            ("f_half", two, f_half, 0)]:
        k = np.array(matrix, float)
        gradient = np.zeros(k.shape)
        for place in np.ndindex(k.shape):
            moved = k.astype(complex)
            moved[place] += 1e-30j
            gradient[place] = value(moved).imag / 1e-30
        own = float(value(k))
        error = math.sqrt((k * gradient ** 2).sum()
                          - (k * gradient).sum() ** 2 / k.sum())
        width = 1 - low
        p = (own - low) / width
        scaled = stats.norm.ppf(0.975) * error / width / (p * (1 - p))
        logit = math.log(p / (1 - p))
        cases.append({
            "name": name, "matrix": matrix, "value": own, "error": error,
            "ends": [low + width / (1 + math.exp(-logit + s * scaled))
                     for s in (1, -1)]})
    return cases


def replicate_ends() -> dict:
    """The ends from given replicates; BCa as in scipy.stats.bootstrap."""
    rng = np.random.default_rng(3)
    replicates = np.round(rng.beta(20, 3, 200), 3)
    value, acceleration = 0.881, 0.02
    below = (np.mean(replicates < value) + np.mean(replicates <= value)) / 2
    bias = stats.norm.ppf(below)
    levels = []
    for p in (0.025, 0.975):
        z = bias + stats.norm.ppf(p)
        levels.append(stats.norm.cdf(bias + z / (1 - acceleration * z)))
    deviation = replicates.std(ddof=1)
    z = stats.norm.ppf(0.975)
    logit = math.log(value / (1 - value))
    scaled = z * deviation / value / (1 - value)
    return {"replicates": replicates.tolist(), "value": value,
            "acceleration": acceleration,
            "percentile": np.quantile(replicates, [0.025, 0.975]).tolist(),
            "bca": np.quantile(replicates, levels).tolist(),
            "normal": [value - z * deviation, value + z * deviation],
            "logit_normal": [1 / (1 + math.exp(-logit + s * scaled))
                             for s in (1, -1)]}


def jackknife() -> dict:
    """From pseudo-values, as TensorFlow Model Analysis states them."""
    without = [0.71, 0.74, 0.7, 0.735, 0.72]
    value, k = 0.722, len(without)
    pseudo = k * value - (k - 1) * np.array(without)
    error = float(pseudo.std(ddof=1) / math.sqrt(k))
    t = stats.t.ppf(0.95, k - 1)
    return {"without": without, "value": value, "level": 0.9, "error": error,
            "ends": [value - t * error, value + t * error]}


def logit_ends(value: float, error: float, t: float) -> list[float]:
    """value -+ t error on the logit scale."""
    logit = math.log(value / (1 - value))
    width = t * error / (value * (1 - value))
    return [1 / (1 + math.exp(s * width - logit)) for s in (1, -1)]


def leave_one_out(statistic, *columns: np.ndarray) -> np.ndarray:
    """The statistic without each row."""
    rows = np.arange(len(columns[0]))
    return np.array([statistic(*(c[rows != i] for c in columns))
                     for i in rows])


def jackknife_error(without: np.ndarray) -> float:
    """The jackknife's standard error."""
    k = len(without)
    return float(np.sqrt((k - 1) / k * ((without - without.mean()) ** 2).sum()))


def movers() -> list[dict]:
    """Zou and Donner's MOVER for macro recall and macro F1 of Wilson ends."""
    cases = []
    for matrix in ([[40, 5, 3], [7, 30, 2], [0, 4, 5]], [[90, 6], [1, 3]],
                   [[20, 0], [0, 5]]):
        counts = np.array(matrix, float)
        k = len(counts)
        rows, columns, hits = counts.sum(1), counts.sum(0), np.diag(counts)

        def ends(numerator, denominator):
            low, high = proportion_confint(numerator, denominator, 0.05,
                                           "wilson")
            return np.array(low), np.array(high)

        recall = hits / rows
        low, high = ends(hits, rows)
        case = {"matrix": matrix, "recall": {
            "value": float(recall.mean()),
            "ends": [float(recall.mean() - np.sqrt(((recall - low) ** 2).sum()) / k),
                     float(recall.mean() + np.sqrt(((high - recall) ** 2).sum()) / k)]}}
        union = rows + columns - hits
        jaccard = hits / union
        low, high = (2 * e / (1 + e) for e in ends(hits, union))
        f1 = 2 * jaccard / (1 + jaccard)
        # The derivatives of each class's F1 by the count of each cell.
        gradient = np.zeros((k, k, k))
        for c in range(k):
            both = rows[c] + columns[c]
            gradient[c, c, :] -= 2 * hits[c] / both ** 2
            gradient[c, :, c] -= 2 * hits[c] / both ** 2
            gradient[c, c, c] += 2 / both
        covariance = np.einsum("ij,kij,lij->kl", counts, gradient, gradient)
        scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        correlation = np.where(scale > 0, covariance / np.where(scale > 0, scale, 1), 0)
        np.fill_diagonal(correlation, 1)
        below, above = f1 - low, high - f1
        case["f1"] = {
            "value": float(f1.mean()),
            "error": float(np.sqrt(max(covariance.sum(), 0)) / k),
            "ends": [float(f1.mean() - np.sqrt(below @ correlation @ below) / k),
                     float(f1.mean() + np.sqrt(above @ correlation @ above) / k)]}
        cases.append(case)
    return cases


def clustered_area() -> dict:
    """Obuchowski's variance of an area of clustered rows, by its definition."""
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(14), rng.integers(1, 6, 14))
    effect = rng.normal(size=14)[cluster]
    target = (rng.random(len(cluster)) < 0.4).astype(int)
    scores = np.round(rng.normal(effect + target, 1), 1)
    v10, v01 = placements(scores, target)
    area = float(v10.mean())
    m, n = len(v10), len(v01)
    positive, negative = cluster[target == 1], cluster[target == 0]
    ids = np.unique(cluster)
    a = np.array([(v10[positive == i] - area).sum() for i in ids])
    b = np.array([(v01[negative == i] - area).sum() for i in ids])
    i10, i01 = len(np.unique(positive)), len(np.unique(negative))
    variance = (i10 / (i10 - 1) * (a ** 2).sum() / m ** 2
                + i01 / (i01 - 1) * (b ** 2).sum() / n ** 2
                + 2 * len(ids) / (len(ids) - 1) * (a * b).sum() / m / n)
    error = float(np.sqrt(variance))
    # Kish's effective numbers of clusters.
    sizes = [np.bincount(own) for own in (positive, negative)]
    effective = min(each.sum() ** 2 / (each ** 2).sum() for each in sizes)
    t = stats.t.ppf(0.975, effective - 1)
    return {"scores": scores.tolist(), "target": target.tolist(),
            "ids": cluster.tolist(), "area": area, "error": error,
            "ends": logit_ends(area, error, t)}


def precisions() -> list[dict]:
    """scikit-learn's average precision without each row, on the logit scale."""
    rng = np.random.default_rng(9)
    cases = []
    for n, positives, digits in [(40, 5, 6), (60, 12, 1), (300, 9, 2)]:
        target = np.zeros(n, int)
        target[:positives] = 1
        scores = np.round(1 / (1 + np.exp(-rng.normal(target, 1))), digits)
        value = float(average_precision_score(target, scores))
        error = jackknife_error(
            leave_one_out(average_precision_score, target, scores))
        cases.append({"scores": scores.tolist(), "target": target.tolist(),
                      "value": value, "error": error,
                      "ends": logit_ends(value, error,
                                         stats.t.ppf(0.975, positives - 1))})
    return cases


def unit_means() -> list[dict]:
    """Means of units: Student's t on the scale of the logarithm."""
    rng = np.random.default_rng(10)
    cases = []
    for sizes in ([1] * 12, [10] * 6, [3, 9, 1, 4, 12, 7]):
        # By Satterthwaite, for units of unequal sizes.
        size = np.array(sizes, float)
        group = np.repeat(np.arange(len(sizes)), sizes)
        values = np.round(rng.normal(size=len(sizes))[group] ** 2
                          + rng.exponential(size=len(group)), 3)
        mean = float(values.mean())
        without = np.array([values[group != g].mean()
                            for g in range(len(sizes))])
        error = jackknife_error(without)
        degrees = float((size ** 2).sum() ** 2 / (size ** 4).sum() - 1)
        t = stats.t.ppf(0.975, degrees)
        width = t * error / mean
        # Straight from a factor of e on.
        above = math.exp(width) if width <= 1 else math.e * width
        cases.append({"values": values.tolist(), "groups": group.tolist(),
                      "error": error, "degrees": degrees,
                      "ends": [mean * math.exp(-width), mean * above]})
    return cases


def hall_ends() -> dict:
    """Hall's 1992 transformation of t for a skewed mean."""
    values = np.array([0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.4, 0.2, 0.1, 30.0])
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1) / math.sqrt(n))
    skewness = float(((values - mean) ** 3).mean() / values.std() ** 3)
    t = stats.t.ppf(0.975, n - 1)

    def transformed(q: float) -> float:
        y = q / math.sqrt(n) - skewness / (6 * n)
        return float((np.cbrt(1 + skewness * y) - 1) * 3 / skewness
                     * math.sqrt(n))

    width = t * error / mean
    above = math.exp(width) if width <= 1 else math.e * width
    plain = [mean * math.exp(-width), mean * above]
    hall = [mean - transformed(t) * error, mean - transformed(-t) * error]
    return {"values": values.tolist(), "plain": plain, "hall": hall,
            "ends": [min(plain[0], hall[0]) if hall[0] > 0 else plain[0],
                     max(plain[1], hall[1])]}


def medians() -> list[dict]:
    """SciPy's exact confidence interval of a quantile."""
    rng = np.random.default_rng(12)
    cases = []
    for n in (6, 15, 40, 300):
        values = np.round(rng.exponential(size=n), 3)
        interval = stats.quantile_test(
            values, q=0, p=0.5).confidence_interval(0.95)
        cases.append({"values": values.tolist(),
                      "ends": [float(interval.low), float(interval.high)]})
    return cases


def squared_gap(confidence, hits, weight, n_bins: int) -> tuple[float, float]:
    """The mean squared gap of bins by pairs of rows, and its variance."""
    u = hits - confidence
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    total = weight.sum()
    gaps, spreads, shares, squares, pairs = [], [], [], [], []
    for b in range(n_bins):
        rows = np.flatnonzero((bins == b) & (weight > 0))
        if len(rows) < 2:
            continue
        both = [(i, j) for i in rows for j in rows if i != j]
        weights = [weight[i] * weight[j] for i, j in both]
        gaps.append(np.average([u[i] * u[j] for i, j in both],
                               weights=weights))
        second = np.average(u[rows] ** 2, weights=weight[rows] ** 2)
        first = np.average(u[rows], weights=weight[rows])
        pairs.append(sum(weights))
        shares.append(weight[rows].sum() / total)
        squares.append((weight[rows] ** 2).sum())
        spreads.append(max(second - first**2, 0)
                       * weight[rows].sum() ** 2 / pairs[-1])
    gaps, spreads, shares, squares, pairs = map(
        np.array, (gaps, spreads, shares, squares, pairs))
    above = np.maximum(gaps, 0)
    linear = squares * (4 * above * spreads
                        + (above - (shares * above).sum()) ** 2)
    return float((shares * gaps).sum()), \
        float((linear + 2 * (squares * spreads) ** 2 / pairs).sum()
              / total**2)


def gap_ends() -> list[dict]:
    """Sun, Chaudhari, Barnett and Dobriban 2024, of the L2 calibration error."""
    rng = np.random.default_rng(13)
    cases = []
    for n, slope, n_bins in ((30, 0.3, 4), (60, 1.0, 5), (400, 0.0, 15),
                             (150, 0.1, 6)):
        for weighted in (False, True):
            confidence = np.round(rng.uniform(0.01, 0.99, n), 3)
            odds = (confidence / (1 - confidence)) ** slope
            hits = (rng.random(n) < odds / (1 + odds)).astype(int)
            weight = np.round(rng.integers(0, 4, n) / 2, 1) if weighted \
                else np.ones(n)
            gap, variance = squared_gap(confidence, hits, weight, n_bins)
            error, value = math.sqrt(variance), max(gap, 0.0)
            two, one = (stats.norm.ppf(p) * error for p in (0.975, 0.95))
            low = value - two if value >= 2 * two else \
                value / 2 if value >= 2 * one else max(value - one, 0.0)
            cases.append({
                "n_bins": n_bins, "confidence": confidence.tolist(),
                "hits": hits.tolist(),
                "weight": weight.tolist() if weighted else None,
                "error": math.sqrt(variance / gap) / 2 if gap > 0 else None,
                "ends": [math.sqrt(low), math.sqrt(value + two)]})
    return cases


def sign_flips() -> list[dict]:
    """SciPy's permutation test of paired samples: all flips."""
    rng = np.random.default_rng(11)
    cases = []
    for n in (3, 5, 9, 12):
        differences = np.round(rng.normal(0.4, 1, n), 2)
        test = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples",
            n_resamples=np.inf)
        cases.append({"differences": differences.tolist(),
                      "p": float(test.pvalue)})
    return cases


def tests_of_pairs() -> list[dict]:
    """McNemar's test by the discordant pairs, exact and mid-p."""
    cases = []
    for first, second in [(0, 1), (3, 9), (10, 10), (30, 12), (120, 180)]:
        exact = float(mcnemar([[50, first], [second, 50]],
                              exact=True).pvalue)
        n, fewer = first + second, min(first, second)
        middle = 1.0 if first == second else \
            exact - float(stats.binom.pmf(fewer, n, 0.5))
        cases.append({"first": first, "second": second, "exact": exact,
                      "mid": middle})
    return cases


def paired_differences() -> list[dict]:
    """Newcombe's interval of method 10, with the ends of statsmodels."""
    cases = []
    # The second one is published as -0.507 to -0.026 (Fagerland, Lydersen and
    # Laake, Statistics in Medicine 33, 2850).
    for cells in [(36, 12, 2, 0), (1, 1, 7, 12), (59, 6, 16, 80),
                  (10, 0, 0, 0), (0, 4, 0, 3), (2, 9, 8, 1), (0, 0, 0, 5),
                  (900, 30, 12, 58)]:
        for level in (0.8, 0.95):
            table = np.array(cells, float).reshape(2, 2)
            n, alpha = table.sum(), 1 - level
            right = [table[0].sum(), table[:, 0].sum()]
            p, q = (each / n for each in right)
            (l1, u1), (l2, u2) = (proportion_confint(
                each, n, alpha, "wilson") for each in right)
            product = np.prod(table.sum(0)) * np.prod(table.sum(1))
            cross = np.linalg.det(table)
            shrunk = max(cross - n / 2, 0) if cross > 0 else cross
            phi = shrunk / math.sqrt(product) if product > 0 else 0

            def root(x: float, y: float, phi: float = phi) -> float:
                return math.sqrt(np.array([x, y]) @ [[1, -phi], [-phi, 1]]
                                 @ [x, y])

            cases.append({
                "cells": cells, "level": level,
                "ends": [float(p - q - root(p - l1, u2 - q)),
                         float(p - q + root(u1 - p, q - l2))]})
    return cases


def paired_areas() -> dict:
    """DeLong's covariance of two scores of the same samples."""
    rng = np.random.default_rng(4)
    n = 120
    target = (rng.random(n) < 0.4).astype(int)
    first = np.round(rng.normal(0.4 + 0.25 * target, 0.2), 2)
    second = np.round(first + rng.normal(0, 0.15, n), 2)
    parts = [placements(s, target) for s in (first, second)]
    covariance = sum(np.cov(parts[0][i], parts[1][i]) / len(parts[0][i])
                     for i in (0, 1))
    difference = float(parts[0][0].mean() - parts[1][0].mean())
    error = float(np.sqrt(covariance[0, 0] + covariance[1, 1]
                          - 2 * covariance[0, 1]))
    return {"first": first.tolist(), "second": second.tolist(),
            "target": target.tolist(),
            "areas": [float(part[0].mean()) for part in parts],
            "difference": difference,
            "error": error,
            "p": float(2 * stats.norm.sf(abs(difference) / error))}


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF,
             (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def replicate_weights(seed: int, identity: int) -> tuple[list, list]:
    """Of 24 replicates with Poisson weights, and 256 with 0 and 2."""
    cdf = [round(65536 * float(stats.poisson.cdf(k, 1))) for k in range(8)]

    def words(block: int, stream: int) -> list[int]:
        return words_of(seed, identity, block, stream)

    poisson = []
    for block in range(3):
        for word in words(block, 0):
            for bits in (word & 0xFFFF, word >> 16):
                poisson.append(sum(bits >= t for t in cdf))
    double = [2 * (w >> i & 1) for block in range(2)
              for w in words(block, 1) for i in range(32)]
    return poisson, double


def words_of(seed: int, identity: int, block: int, stream: int) -> list[int]:
    """Random words."""
    return philox([block, stream, identity & 0xFFFFFFFF,
                   (identity >> 32) & 0xFFFFFFFF],
                  [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF])


def weights() -> list[dict]:
    """Replicate weights of some ids."""
    cases = []
    for seed, identity in [(0, 0), (1, 5), (-7, -2), (2 ** 40 + 3, 2 ** 50)]:
        poisson, double = replicate_weights(seed, identity)
        low, high = words_of(seed, identity, 0, 2)[:2]
        cases.append({"seed": seed, "id": identity, "poisson": poisson[:21],
                      "double_or_nothing": double[:150],
                      "block_of_20": (low | high << 32) % 20})
    return cases


def curves() -> list[dict]:
    """Areas under the curves of 20 replicates of few rows."""
    rng = np.random.default_rng(5)
    cases = []
    for n, digits, weighted, groups in [(100, 1, False, 0), (100, 6, False, 0),
                                        (100, 1, True, 0), (90, 1, True, 12),
                                        (9, 1, False, 0)]:
        target = (rng.random(n) < 0.4).astype(int)
        target[:2] = 0, 1
        scores = np.round(
            np.clip(rng.normal(0.4 + 0.2 * target, 0.2), 0, 1), digits)
        own = np.round(rng.exponential(size=n), 3) if weighted else np.ones(n)
        ids = np.arange(n) % groups if groups else np.arange(n) * 12345 - 500
        drawn = [replicate_weights(6, int(i)) for i in ids]
        case = {"scores": scores.tolist(), "target": target.tolist(),
                "weight": own.tolist() if weighted else None,
                "ids": ids.tolist(), "seed": 6}
        for kind, name in enumerate(("poisson", "double_or_nothing")):
            rows = np.array([row[kind][:20] for row in drawn]).T * own
            case[name] = {
                "roc": [area(roc_auc_score, target, scores, w, 2)
                        for w in rows],
                "precision_recall": [
                    area(average_precision_score, target, scores, w, 1)
                    for w in rows],
                "stratified_precision_recall": [
                    area(average_precision_score, target, scores,
                         by_class(w, own, target), 2)
                    for w in rows]}
        cases.append(case)
    return cases


def by_class(drawn, own, target):
    """Drawn weights, scaled so that classes have as much as they did."""
    scaled = drawn.copy()
    for label in (0, 1):
        rows = target == label
        if drawn[rows].sum() > 0:
            scaled[rows] *= own[rows].sum() / drawn[rows].sum()
    return scaled


def area(score, target, scores, weight, classes: int):
    """None without the classes that it needs."""
    kept = weight > 0
    present = set(target[kept])
    if 1 not in present or len(present) < classes:
        return None
    return float(score(target[kept], scores[kept], sample_weight=weight[kept]))


def values() -> dict:
    """Everything."""
    return {"proportions": proportions(), "quantiles": quantiles(),
            "areas": areas(), "weighted_area": weighted_area(),
            "newcombe": [{"area": a, "positives": p, "negatives": q,
                          "ends": newcombe(a, p, q)}
                         for a, p, q in [(1.0, 5, 45), (0.0, 5, 45),
                                         (0.9, 20, 30)]],
            "deltas": deltas(), "replicate_ends": replicate_ends(),
            "jackknife": jackknife(), "movers": movers(),
            "clustered_area": clustered_area(), "precisions": precisions(),
            "unit_means": unit_means(), "hall": hall_ends(),
            "medians": medians(), "gaps": gap_ends(),
            "sign_flips": sign_flips(),
            "mcnemar": tests_of_pairs(),
            "paired_differences": paired_differences(),
            "paired_areas": paired_areas(), "weights": weights(),
            "curves": curves()}


def same(left, right) -> bool:
    """Whether two JSON values agree, numbers up to their last digits."""
    if isinstance(left, dict):
        return list(left) == list(right) and \
            all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE)
    return left == right


def main() -> int:
    """Writes or checks the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    fresh = values()
    if not parser.parse_args().check:
        DATA.parent.mkdir(exist_ok=True)
        DATA.write_text(json.dumps(fresh) + "\n", encoding="utf-8")
        return 0
    if same(json.loads(DATA.read_text(encoding="utf-8")), fresh):
        return 0
    print(f"{DATA} differs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
