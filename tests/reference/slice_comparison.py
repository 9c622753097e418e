"""What SliceComparison should say, by NumPy and SciPy.

Usage: slice_comparison.py

Prints the values of SliceComparisonTest: an accuracy, whose slices are independent
proportions, and the same for groups of six rows, which the jackknife compares.
benchmarks/coverage/slice_coverage.cc simulates how often both are right.
"""

import functools

import numpy
from scipy import stats

from intervals import words_of

BLOCKS = 20


@functools.lru_cache
def blocks(units):
    """Of the ids from 0 on: the first two words in stream 2, modulo their number."""
    words = [words_of(0, i, 0, 2) for i in range(units)]
    return numpy.array([(low | high << 32) % BLOCKS for low, high, *_ in words])


def wilson(right, rows):
    return stats.binomtest(int(right), int(rows)).proportion_ci(0.95, "wilson")


def proportions(own, rest):
    """Low, high, standard error, degrees, effect and p of two (right, rows)."""
    value, other = own[0] / own[1], rest[0] / rest[1]
    a, b = wilson(*own), wilson(*rest)
    d = value - other
    low = d - numpy.hypot(value - a.low, b.high - other)
    high = d + numpy.hypot(a.high - value, other - b.low)
    drawn = stats.hypergeom(own[1] + rest[1], own[0] + rest[0], own[1])
    tail = drawn.sf(own[0]) + drawn.pmf(own[0]) / 2
    both = (own[0] + rest[0]) / (own[1] + rest[1])
    square = max(value * (1 - value), both * (1 - both))
    other_square = other * (1 - other)
    error = numpy.sqrt(square / own[1] + other_square / rest[1])
    effect = d / numpy.sqrt((square + other_square) / 2)
    return low, high, error, numpy.inf, effect, 2 * min(tail, 1 - tail)


def jackknife(right, rows):
    """The variance of sum(right) / sum(rows), both by block, and its degrees of freedom."""
    right, rows = right[rows > 0], rows[rows > 0]
    without = (right.sum() - right) / (rows.sum() - rows)
    variance = (len(rows) - 1) / len(rows) * ((without - without.mean()) ** 2).sum()
    degrees = (rows**2).sum() ** 2 / (rows**4).sum() - 1
    return variance, min(degrees, len(rows) - 1)


def groups(own, rest):
    """The same of (right, rows) by block."""
    total = own + rest
    pooled, pooled_degrees = jackknife(*total)
    square = pooled * total[1].sum()
    smaller, larger = sorted((own, rest), key=lambda x: x[1].sum())
    variance, degrees = jackknife(*smaller)
    if variance <= square / smaller[1].sum():
        variance, degrees = square / smaller[1].sum(), pooled_degrees
    other = square / larger[1].sum()
    error = (variance + other) ** 0.5
    degrees = error**4 / (variance**2 / degrees + other**2 / pooled_degrees)
    spread = ((variance * smaller[1].sum() + square) / 2) ** 0.5
    d = own[0].sum() / own[1].sum() - rest[0].sum() / rest[1].sum()
    half = stats.t.ppf(0.975, degrees) * error
    low, high = max(d - half, -1), min(d + half, 1)
    return low, high, error, degrees, d / spread, 2 * stats.t.sf(abs(d) / error, degrees)


def compare(right, key, unit):
    """For each slice, key, rows, units, value, rest, difference, what is above, and q."""
    keys, code = numpy.unique(key, return_inverse=True)
    table = numpy.zeros((2, len(keys), BLOCKS))
    block = blocks(unit.max() + 1)[unit]
    numpy.add.at(table[0], (code, block), right)
    numpy.add.at(table[1], (code, block), 1)
    total = table.sum(1)
    are_rows = len(numpy.unique(unit)) == len(unit)
    lines = []
    for k in range(len(keys)):
        own, rest = table[:, k], total - table[:, k]
        value, other = (x[0].sum() / x[1].sum() for x in (own, rest))
        test = proportions(own.sum(1), rest.sum(1)) if are_rows else groups(own, rest)
        units = len(numpy.unique(unit[code == k]))
        lines.append([keys[k], int(own[1].sum()), units, value, other, value - other, *test])
    q = stats.false_discovery_control([line[-1] for line in lines])
    lines = [[*line, each] for line, each in zip(lines, q)]
    return sorted(lines, key=lambda line: line[7])


def main():
    row = numpy.arange(900)
    key = numpy.where(row % 3 == 0, 9, row * row % 7)
    right = row * 7919 % 101 < numpy.where(key == 2, 60, 85)
    for unit in (row, row // 6):
        for line in compare(right.astype(float), key, unit):
            texts = ["kInfinity" if each == numpy.inf else repr(getattr(each, "item", lambda: each)())
                     for each in line]
            print("{" + ", ".join(texts) + "},")
        print()


if __name__ == "__main__":
    main()
