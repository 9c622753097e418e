"""What SliceComparison should say, by NumPy and SciPy.

Usage: slice_comparison.py [--runs N]

Prints the values of SliceComparisonTest.ComparesWithTheRest. With --runs, prints
in how many of N runs over 100 equal slices of 200 rows, all with an accuracy of
0.9, some slice has a q of at most 0.05, and how often the interval of a slice's
difference contains 0.
"""

import argparse
import functools

import numpy
from scipy import stats

from intervals import words_of

BLOCKS = 20


@functools.lru_cache
def blocks(rows):
    """Of the ids from 0 on: the first two words in stream 2, modulo their number."""
    words = [words_of(0, i, 0, 2) for i in range(rows)]
    return numpy.array([(low | high << 32) % BLOCKS for low, high, *_ in words])


def jackknife(right, rows):
    """The variance of sum(right) / sum(rows), both by block."""
    right, rows = right[rows > 0], rows[rows > 0]
    without = (right.sum() - right) / (rows.sum() - rows)
    return (len(rows) - 1) / len(rows) * ((without - without.mean()) ** 2).sum()


def compare(right, key):
    """For each key value, difference, low, high, effect, p, q."""
    block = blocks(len(right))
    keys, code = numpy.unique(key, return_inverse=True)
    table = numpy.zeros((2, len(keys), BLOCKS))
    numpy.add.at(table[0], (code, block), right)
    numpy.add.at(table[1], (code, block), 1)
    total = table.sum(1)
    square = jackknife(*total) * len(right)
    lines = []
    for k in range(len(keys)):
        own, rest = table[:, k], total - table[:, k]
        value, other = (x[0].sum() / x[1].sum() for x in (own, rest))
        smaller, larger = sorted((own, rest), key=lambda x: x[1].sum())
        variance = max(jackknife(*smaller), square / smaller[1].sum())
        error = (variance + square / larger[1].sum()) ** 0.5
        spread = ((variance * smaller[1].sum() + square) / 2) ** 0.5
        half = stats.t.ppf(0.975, BLOCKS - 1) * error
        d = value - other
        p = 2 * stats.t.sf(abs(d) / error, BLOCKS - 1)
        lines.append([int(own[1].sum()), value, other, d, d - half, d + half, d / spread, p])
    q = stats.false_discovery_control([line[-1] for line in lines])
    return [[keys[k], *line, q[k]] for k, line in enumerate(lines)]


def simulate(runs):
    generator = numpy.random.default_rng(0)
    key = numpy.repeat(numpy.arange(100), 200)
    flagged = covered = 0
    for _ in range(runs):
        lines = compare(generator.random(len(key)) < 0.9, key)
        flagged += min(line[-1] for line in lines) <= 0.05
        covered += sum(line[5] <= 0 <= line[6] for line in lines)
    print(f"some q <= 0.05 in {100 * flagged / runs:.1f} % of {runs} runs")
    print(f"intervals contain 0 in {covered / runs:.2f} % of the slices")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--runs", type=int)
    arguments = parser.parse_args()
    if arguments.runs:
        simulate(arguments.runs)
        return
    row = numpy.arange(900)
    key = numpy.where(row % 3 == 0, 9, row * row % 7)
    right = row * 7919 % 101 < numpy.where(key == 2, 60, 85)
    for line in compare(right.astype(float), key):
        print("{" + ", ".join(repr(x.item() if hasattr(x, "item") else x) for x in line) + "},")


if __name__ == "__main__":
    main()
